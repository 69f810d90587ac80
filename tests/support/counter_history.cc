// SPDX-License-Identifier: Apache-2.0
//
// The search for an order of the operations that fits all answers.

#include "tests/support/counter_history.h"

#include <algorithm>
#include <sstream>
#include <string>
#include <unordered_set>
#include <utility>

namespace kvpage::test {

CounterHistory::Start CounterHistory::Begin() {
  return {scheduler_.now(), scheduler_.memory().view(scheduler_.self())};
}

void CounterHistory::End(const Start& start, std::vector<Row> rows, int64_t released,
                         int64_t at_least, int64_t at_most) {
  const uint32_t thread = scheduler_.self();
  // The clock has already gone on after the last step.
  operations_.push_back({thread, start.time, scheduler_.now(),
                         scheduler_.memory().Clock(thread) - 1, start.view, std::move(rows),
                         released, at_least, at_most});
}

bool CounterHistory::ComesBefore(const Operation& a, const Operation& b) const {
  if (!scheduler_.is_weak()) return a.end_time <= b.begin_time;
  return b.view.Get(a.thread) >= a.end_clock;
}

bool CounterHistory::IsRefusal(const Operation& operation) {
  return operation.at_least != kNone || operation.at_most != kAny ||
         std::any_of(operation.rows.begin(), operation.rows.end(),
                     [](const Row& row) { return !row.is_ok; });
}

bool CounterHistory::Apply(const Operation& operation, bool judges_refusals, int64_t& free) {
  if (judges_refusals && (free < operation.at_least || free > operation.at_most)) return false;
  for (const Row& row : operation.rows) {
    if (row.is_ok && free < row.blocks) return false;
    if (!row.is_ok && judges_refusals && free >= row.blocks) return false;
    if (row.is_ok) free -= row.blocks;
  }
  free += operation.released;
  return true;
}

bool CounterHistory::HasOrder(const std::vector<uint64_t>& before, size_t judged) const {
  const size_t n = operations_.size();
  struct Point {
    uint64_t done;
    int64_t free;
  };
  std::vector<Point> open = {{0, initial_}};
  std::unordered_set<uint64_t> seen = {0};
  const uint64_t all = n == 64 ? ~uint64_t{0} : (uint64_t{1} << n) - 1;
  while (!open.empty()) {
    const Point point = open.back();
    open.pop_back();
    if (point.done == all) return true;
    for (size_t i = 0; i < n; ++i) {
      const uint64_t bit = uint64_t{1} << i;
      if ((point.done & bit) != 0 || (before[i] & ~point.done) != 0) continue;
      int64_t free = point.free;
      const bool is_judged = judged == kEveryOperation || judged == i;
      if (Apply(operations_[i], is_judged, free) && seen.insert(point.done | bit).second) {
        open.push_back({point.done | bit, free});
      }
    }
  }
  return false;
}

std::string CounterHistory::Check() const {
  const size_t n = operations_.size();
  if (n > 64) return "history of more than 64 operations";
  std::vector<uint64_t> before(n, 0);
  for (size_t b = 0; b < n; ++b) {
    for (size_t a = 0; a < n; ++a) {
      if (a != b && ComesBefore(operations_[a], operations_[b])) before[b] |= uint64_t{1} << a;
    }
  }
  // What fits together fits each by itself.
  if (HasOrder(before, kEveryOperation)) return "";
  if (!scheduler_.is_weak()) return "not linearizable: " + Describe();
  if (!HasOrder(before, n)) return "successes are not linearizable: " + Describe();
  for (size_t i = 0; i < n; ++i) {
    if (IsRefusal(operations_[i]) && !HasOrder(before, i)) {
      return "#" + std::to_string(i) + " is wrong at every instant: " + Describe();
    }
  }
  return "";
}

std::string CounterHistory::Describe() const {
  std::ostringstream out;
  out << initial_ << " free at first\n";
  for (size_t i = 0; i < operations_.size(); ++i) {
    const Operation& op = operations_[i];
    out << "  #" << i << " thread " << op.thread << " steps " << op.begin_time << ".."
        << op.end_time;
    if (op.released > 0) out << " release " << op.released;
    for (const Row& row : op.rows) {
      out << " reserve " << row.blocks << (row.is_ok ? " Ok" : " Full");
    }
    if (op.at_least != kNone) out << " at least " << op.at_least;
    if (op.at_most != kAny) out << " at most " << op.at_most;
    out << ", after";
    for (size_t j = 0; j < operations_.size(); ++j) {
      if (j != i && ComesBefore(operations_[j], op)) out << " #" << j;
    }
    out << "\n";
  }
  return out.str();
}

}  // namespace kvpage::test
