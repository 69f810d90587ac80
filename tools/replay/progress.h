// SPDX-License-Identifier: Apache-2.0
//
// tools/replay/progress.h
//
// A progress bar in one line of a terminal.

#ifndef KVPAGE_TOOLS_REPLAY_PROGRESS_H_
#define KVPAGE_TOOLS_REPLAY_PROGRESS_H_

#include <chrono>
#include <cstdint>
#include <ostream>

namespace kvpage::replay {

enum class ProgressMode { kAuto, kOn, kOff };

// Whether to draw on stderr: kAuto asks whether it is a terminal.
bool WantsProgress(ProgressMode mode);

class Progress {
 public:
  // Draws on `out` if it is given. Clears the line when it is destroyed.
  Progress(std::ostream* out, uint64_t total) : out_(out), total_(total) {}
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();

  // Cheap enough to be called for every step: looks at the clock rarely and draws more rarely.
  void Update(uint64_t finished, uint64_t step) {
    if (out_ != nullptr && step % kStepsPerLook == 0) DrawIfDue(finished, step);
  }

 private:
  static constexpr uint64_t kStepsPerLook = 64;

  void DrawIfDue(uint64_t finished, uint64_t step);

  std::ostream* out_;
  uint64_t total_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point due_;
};

}  // namespace kvpage::replay

#endif  // KVPAGE_TOOLS_REPLAY_PROGRESS_H_
