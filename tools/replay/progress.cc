// SPDX-License-Identifier: Apache-2.0
//
// Ten times a second is often enough to look alive.

#include "tools/replay/progress.h"

#include <unistd.h>

#include <string>

namespace kvpage::replay {

bool WantsProgress(ProgressMode mode) {
  return mode == ProgressMode::kOn || (mode == ProgressMode::kAuto && isatty(STDERR_FILENO) == 1);
}

Progress::~Progress() {
  if (drawn_) *out_ << "\r\x1b[K" << std::flush;
}

void Progress::DrawIfDue(uint64_t finished, uint64_t step) {
  const auto now = std::chrono::steady_clock::now();
  if (now < due_) return;
  due_ = now + std::chrono::milliseconds(100);
  constexpr uint64_t kWidth = 30;
  const uint64_t full = total_ == 0 ? kWidth : finished * kWidth / total_;
  *out_ << "\r[" << std::string(full, '#') << std::string(kWidth - full, '.') << "] " << finished
        << " of " << total_ << " requests, step " << step << "\x1b[K" << std::flush;
  drawn_ = true;
}

}  // namespace kvpage::replay
