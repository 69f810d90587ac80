// SPDX-License-Identifier: Apache-2.0
//
// tests/support/weak_memory.h
//
// A memory weaker than any machine the tests run on, in the operational style of RC11: each word
// keeps a short history of messages (value and what the writer had seen), each thread a view (the
// oldest message of each word that it may still read). A relaxed load may return an old message, so
// an addition can be "still under way" for some threads and not for others, and a missing fence
// shows up as a wrong answer.
//
//   relaxed load, relaxed read-modify-write   keep the message's view for the next fence
//   acquire                                   joins the message's view at once
//   relaxed store, read-modify-write          attach the view of the thread's last fence
//   release                                   attach the thread's view
//   read-modify-write                         reads the newest message and passes its view on
//   read-modify-write without a result        passes the view on, but reads nothing itself: no
//                                             fence acquires from it (a GPU's reduction)
//   fence                                     joins what was kept; later writes attach the view
// Not modelled: loads that see the future (load buffering), and writes that come in the middle of a
// word's history.
//
// Views also hold one clock per thread, which says what happens before what: tests/support/
// race_cell.h and tests/support/counter_history.h use it.

#ifndef KVPAGE_TESTS_SUPPORT_WEAK_MEMORY_H_
#define KVPAGE_TESTS_SUPPORT_WEAK_MEMORY_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "tests/support/random.h"

namespace kvpage::test {

// Entry t is thread t's clock, entry num_threads + w the time of a message of word w.
class View {
 public:
  uint32_t Get(size_t i) const { return i < times_.size() ? times_[i] : 0; }
  void Raise(size_t i, uint32_t time) {
    if (i >= times_.size()) times_.resize(i + 1, 0);
    times_[i] = std::max(times_[i], time);
  }
  void Join(const View& other) {
    if (other.times_.size() > times_.size()) times_.resize(other.times_.size(), 0);
    for (size_t i = 0; i < other.times_.size(); ++i) {
      times_[i] = std::max(times_[i], other.times_[i]);
    }
  }

 private:
  std::vector<uint32_t> times_;
};

// What a thread gains from the message that its read-modify-write finds.
enum class Gain {
  kNothing,  // there is no result
  kByFence,  // relaxed: what the message attached, from the next fence on
  kAtOnce,   // acquire
};

class WeakMemory {
 public:
  // In `stale_percent` of 100 loads an older message may be chosen; 0 plays sequential consistency.
  WeakMemory(uint32_t num_threads, uint32_t stale_percent, Random& random);

  uint64_t Load(uint32_t thread, const void* word, uint32_t bytes, bool acquire);
  void Store(uint32_t thread, void* word, uint32_t bytes, uint64_t value, bool release);
  // Returns the old value.
  uint64_t Update(uint32_t thread, void* word, uint32_t bytes, Gain gain, bool release,
                  const std::function<uint64_t(uint64_t)>& next);
  bool CompareExchange(uint32_t thread, void* word, uint32_t bytes, uint64_t& expected,
                       uint64_t value);
  void Fence(uint32_t thread);
  // What a barrier does for the threads that meet at it: each now sees what any of them saw.
  // A relaxed write after it still attaches only what the writer's own last fence had seen: to
  // publish for others, a thread meets them first and then fences.
  void Barrier(const std::vector<uint32_t>& threads);

  // The thread's clock, and whether what `other` did up to `time` happened before its next step.
  uint32_t Clock(uint32_t thread) const { return threads_[thread].now.Get(thread); }
  bool HappenedBefore(uint32_t other, uint32_t time, uint32_t thread) const {
    return threads_[thread].now.Get(other) >= time;
  }
  const View& view(uint32_t thread) const { return threads_[thread].now; }

 private:
  struct Message {
    uint64_t value;
    uint32_t time;
    View view;
  };
  struct Word {
    uint32_t bytes;
    size_t slot;                   // in a View
    std::vector<Message> history;  // oldest first, never empty
  };
  struct Thread {
    View now;
    View kept;      // by relaxed loads, until the next fence
    View released;  // what the last fence had seen
  };
  static constexpr size_t kHistory = 8;

  Word& Find(const void* word, uint32_t bytes);
  const Message& Choose(const Thread& thread, const Word& word);
  void Read(Thread& thread, const Word& word, const Message& message, bool acquire);
  void Append(uint32_t thread, Word& word, void* address, uint64_t value, bool release,
              const View* passed_on);
  void Tick(uint32_t thread);

  std::vector<Thread> threads_;
  std::unordered_map<const void*, Word> words_;
  uint32_t stale_percent_;
  Random& random_;
};

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_SUPPORT_WEAK_MEMORY_H_
