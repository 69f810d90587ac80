// SPDX-License-Identifier: Apache-2.0
//
// tests/support/scheduler.h
//
// A seeded scheduler: runs a few threads as fibers of one OS thread and decides at every atomic
// step which goes on. Equal seeds give equal runs. A run ends when every thread has ended, or fails
// with a message: a check that failed, a data race, a deadlock, or more steps than allowed.
//
// Example:
//   Scheduler scheduler({.seed = 7});
//   scheduler.Spawn([&] { SchedAtomics::StoreRelease(&flag, 1u); });
//   scheduler.Spawn([&] { seen = SchedAtomics::LoadAcquire(&flag); });
//   if (!scheduler.Run()) FAIL() << scheduler.failure();
//
// Fairness: no thread that can run is left waiting for more than kPatience steps. In a looped run a
// random prefix is followed by one short random pattern of turns, repeated for ever, in which every
// thread has a turn: an algorithm that can livelock under a fair schedule is caught in the loop.
// Thread safety: one scheduler runs at a time per OS thread.
// Failure: when a run fails, its threads are unwound by an exception, so code under test must not
//   catch everything or be noexcept around atomic steps.

#ifndef KVPAGE_TESTS_SUPPORT_SCHEDULER_H_
#define KVPAGE_TESTS_SUPPORT_SCHEDULER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "tests/support/fiber.h"
#include "tests/support/random.h"
#include "tests/support/weak_memory.h"

namespace kvpage::test {

class Scheduler {
 public:
  enum class Turns { kRandom, kLooped };
  struct Options {
    uint64_t seed = 1;
    Turns turns = Turns::kRandom;
    bool is_weak = true;  // false: every load returns the newest value
    uint32_t max_steps = 20000;
  };

  explicit Scheduler(const Options& options);
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // Adds a thread; returns its number. REQUIRES: not running.
  uint32_t Spawn(std::function<void()> body);
  // Runs all threads to their end. Returns whether nothing failed.
  bool Run();
  // Why the run failed, with the last steps of every thread; empty if it did not.
  const std::string& failure() const { return failure_; }
  // The last steps, for a check made after the run.
  std::string Trace() const;

  // The scheduler that is running on this OS thread, or null.
  static Scheduler* Current();
  // What the steps of the trace call a word.
  void Name(const void* word, std::string name) { names_[word] = std::move(name); }

  // --- for the running thread ---
  uint32_t self() const { return self_; }
  WeakMemory& memory() const { return *memory_; }
  Random& random() { return random_; }
  uint64_t now() const { return steps_; }
  bool is_weak() const { return options_.is_weak; }
  // One step: others may go first.
  void Step();
  // One step that waits for another thread: prefers the others.
  void Pause();
  // While solo, no other thread takes a step: what must not depend on others then ends or fails.
  void SetSolo(bool is_solo) { is_solo_ = is_solo; }
  // Waits until another thread wakes this one.
  void Sleep();
  void Wake(uint32_t thread) { threads_[thread].is_asleep = false; }
  // Fails the run and unwinds this thread.
  [[noreturn]] void Fail(const std::string& what);
  void Note(const char* verb, const void* word, uint64_t value);

 private:
  struct Aborted {};
  struct Thread {
    std::function<void()> body;
    std::unique_ptr<Fiber> fiber;
    bool is_done = false;
    bool is_asleep = false;
    uint64_t last_turn = 0;
    uint32_t priority = 0;
  };
  struct Noted {
    uint32_t thread;
    const char* verb;
    const void* word;
    uint64_t value;
  };
  enum class Style { kCoin, kPriority, kLoop };
  static constexpr uint64_t kPatience = 1000;
  static constexpr uint32_t kNobody = ~0u;

  void PlanTurns();
  FiberContext* RunThread(uint32_t thread);
  // Whose turn it is, kNobody if every thread has ended; fails if all the others sleep.
  uint32_t NextTurn(bool is_waiting);
  uint32_t NextInLoop();
  uint32_t Highest() const;
  uint32_t RandomReady(uint32_t but);
  bool IsReady(uint32_t t) const { return !threads_[t].is_done && !threads_[t].is_asleep; }
  void TakeStep(bool is_waiting);
  void SwitchTo(uint32_t thread);
  void SetFailure(const std::string& what);

  Options options_;
  Random random_;
  std::unique_ptr<WeakMemory> memory_;
  std::vector<Thread> threads_;
  std::unique_ptr<FiberContext> host_;
  uint32_t self_ = kNobody;
  uint64_t steps_ = 0;
  bool is_aborting_ = false;
  bool is_solo_ = false;
  std::string failure_;
  std::vector<Noted> trace_;  // the last steps, in a ring
  size_t noted_ = 0;
  std::unordered_map<const void*, std::string> names_;

  Style style_ = Style::kCoin;
  uint32_t switch_percent_ = 50;
  std::vector<uint64_t> demotions_;  // steps at which the running thread loses its priority
  uint32_t lowest_ = 0;              // below every priority given so far
  uint64_t loop_start_ = 0;
  std::vector<uint32_t> loop_;
};

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_SUPPORT_SCHEDULER_H_
