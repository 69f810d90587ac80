// SPDX-License-Identifier: Apache-2.0
//
// tests/support/counter_history.h
//
// Linearizability of what callers of a counting gate were told. The specification is one atomic
// counter of free blocks: reserve(n) succeeds iff the counter is at least n and then lowers it, a
// release raises it, a batch decides its rows in order at one instant.
//
// Under sequential consistency a history is right if its operations can be put in one order that
// every answer fits and that respects their order in time. Under a weak memory two operations that
// nothing connects have no order, so "happened before" takes the place of time; and two threads
// that each release and then ask may both miss the other's release (store buffering, which acquire
// and release do not forbid). So there the successes and releases must fit together, and each
// "Full" must fit in with them by itself.
//
// Since the counter's value depends on the set of operations done and not on their order, the
// search goes over sets and is quick for the few operations of one run.

#ifndef KVPAGE_TESTS_SUPPORT_COUNTER_HISTORY_H_
#define KVPAGE_TESTS_SUPPORT_COUNTER_HISTORY_H_

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/scheduler.h"

namespace kvpage::test {

class CounterHistory {
 public:
  // `initial`: blocks free before the first operation.
  CounterHistory(const Scheduler& scheduler, int64_t initial)
      : scheduler_(scheduler), initial_(initial) {}

  // Where an operation began; to be taken just before it, by its thread. An operation that several
  // lanes do together begins in each.
  struct Start {
    uint64_t time;
    View view;
  };
  Start Begin();

  // Records that an operation ended, just after it, by its thread.
  struct Row {
    int64_t blocks;
    bool is_ok;
  };
  void EndReserve(const Start& start, int64_t n, bool is_ok) { End(start, {{n, is_ok}}, 0); }
  void EndBatch(const Start& start, std::vector<Row> rows) { End(start, std::move(rows), 0); }
  void EndRelease(const Start& start, int64_t n) { End(start, {}, n); }
  // The caller was told that at some instant at least, or at most, so many were free.
  void EndAtLeast(const Start& start, int64_t n) { End(start, {}, 0, n); }
  void EndAtMost(const Start& start, int64_t n) { End(start, {}, 0, kNone, n); }

  // Empty if the history is right, else what was recorded.
  std::string Check() const;

 private:
  struct Operation {
    uint32_t thread;
    uint64_t begin_time;
    uint64_t end_time;
    uint32_t end_clock;  // of the thread
    View view;           // at the begin
    std::vector<Row> rows;
    int64_t released;
    int64_t at_least;
    int64_t at_most;
  };
  static constexpr size_t kEveryOperation = ~size_t{0};
  static constexpr int64_t kNone = std::numeric_limits<int64_t>::min();
  static constexpr int64_t kAny = std::numeric_limits<int64_t>::max();

  void End(const Start& start, std::vector<Row> rows, int64_t released, int64_t at_least = kNone,
           int64_t at_most = kAny);
  bool ComesBefore(const Operation& a, const Operation& b) const;
  // Whether the operation's answer is anything but success; a batch can be both.
  static bool IsRefusal(const Operation& operation);
  // What the operation does to a counter of `free`; false if its answer does not fit. Refusals are
  // passed over unless they are to be judged.
  static bool Apply(const Operation& operation, bool judges_refusals, int64_t& free);
  // Whether there is an order that fits all successes, and the refusals of operation `judged`.
  bool HasOrder(const std::vector<uint64_t>& before, size_t judged) const;
  std::string Describe() const;

  const Scheduler& scheduler_;
  int64_t initial_;
  std::vector<Operation> operations_;
};

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_SUPPORT_COUNTER_HISTORY_H_
