// SPDX-License-Identifier: Apache-2.0
//
// Whose turn it is. Three styles, chosen by the seed, because each finds what the others miss:
// coins (any interleaving), priorities with a few demotions (one thread stalls for long), and a
// short pattern repeated for ever (fair livelocks).

#include <algorithm>
#include <numeric>

#include "tests/support/scheduler.h"

namespace kvpage::test {

void Scheduler::PlanTurns() {
  const auto n = static_cast<uint32_t>(threads_.size());
  if (n == 0) return;
  if (options_.turns == Turns::kLooped) {
    style_ = Style::kLoop;
    loop_start_ = random_.Below(80);
    loop_.resize(random_.Between(n, 8 * n));
    for (uint32_t& turn : loop_) turn = random_.Below(n);
    for (uint32_t t = 0; t < n; ++t) loop_.push_back(t);
    return;
  }
  static constexpr uint32_t kSwitch[] = {8, 25, 50, 90};
  switch_percent_ = kSwitch[random_.Below(4)];
  if (random_.Percent(60)) return;
  style_ = Style::kPriority;
  std::vector<uint32_t> order(n);
  std::iota(order.begin(), order.end(), 1u);
  for (uint32_t i = n; i > 1; --i) std::swap(order[i - 1], order[random_.Below(i)]);
  lowest_ = 1u << 30;
  for (uint32_t t = 0; t < n; ++t) threads_[t].priority = lowest_ + order[t];
  demotions_.resize(random_.Between(1, 5));
  for (uint64_t& step : demotions_) step = random_.Below(40 * n);
}

uint32_t Scheduler::NextTurn(bool is_waiting) {
  const auto n = static_cast<uint32_t>(threads_.size());
  uint32_t ready = 0;
  uint32_t alive = 0;
  uint32_t starved = kNobody;
  for (uint32_t t = 0; t < n; ++t) {
    if (!threads_[t].is_done) ++alive;
    if (!IsReady(t)) continue;
    ++ready;
    if (steps_ > threads_[t].last_turn + kPatience) starved = t;
  }
  if (alive == 0) return kNobody;
  if (ready == 0 || is_aborting_) {
    if (!is_aborting_) SetFailure("deadlock: every thread waits for another");
    is_aborting_ = true;
    for (uint32_t t = 0; t < n; ++t) {
      if (!threads_[t].is_done) return t;
    }
  }
  uint32_t next = self_;
  if (is_solo_ && self_ != kNobody && IsReady(self_)) return self_;
  if (style_ == Style::kLoop) {
    next = NextInLoop();
  } else if (starved != kNobody) {
    next = starved;
  } else if (style_ == Style::kPriority) {
    const bool is_demoted =
        std::find(demotions_.begin(), demotions_.end(), steps_) != demotions_.end();
    if (self_ != kNobody && (is_waiting || is_demoted)) threads_[self_].priority = --lowest_;
    next = Highest();
  } else if (self_ == kNobody || is_waiting || !IsReady(self_) ||
             random_.Percent(switch_percent_)) {
    next = RandomReady(is_waiting && ready > 1 ? self_ : kNobody);
  }
  threads_[next].last_turn = steps_;
  return next;
}

uint32_t Scheduler::NextInLoop() {
  if (steps_ < loop_start_) return RandomReady(kNobody);
  for (uint64_t i = steps_;; ++i) {
    const uint32_t t = loop_[i % loop_.size()];
    if (IsReady(t)) return t;
  }
}

uint32_t Scheduler::Highest() const {
  uint32_t best = kNobody;
  for (uint32_t t = 0; t < threads_.size(); ++t) {
    if (IsReady(t) && (best == kNobody || threads_[t].priority > threads_[best].priority)) best = t;
  }
  return best;
}

uint32_t Scheduler::RandomReady(uint32_t but) {
  std::vector<uint32_t> ready;
  for (uint32_t t = 0; t < threads_.size(); ++t) {
    if (t != but && IsReady(t)) ready.push_back(t);
  }
  if (ready.empty()) return but;
  return ready[random_.Below(static_cast<uint32_t>(ready.size()))];
}

}  // namespace kvpage::test
