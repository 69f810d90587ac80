// SPDX-License-Identifier: Apache-2.0
//
// tests/model/pending_model.h
//
// What fences must do, said as plainly as possible: epochs on a timeline, each with the blocks that
// wait for it. A cache can tell as many epochs apart as it has sets; under more of them blocks join
// those of the next younger epoch, or, if there is none, the youngest's wait for the new one too.

#ifndef KVPAGE_TESTS_MODEL_PENDING_MODEL_H_
#define KVPAGE_TESTS_MODEL_PENDING_MODEL_H_

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "kvpage/core/types.h"

namespace kvpage::test {

class PendingModel {
 public:
  explicit PendingModel(size_t num_sets) : num_sets_(num_sets) {}

  static constexpr uint64_t kAtOnce = 0;

  // The epoch that blocks wait for which an operation lets go under `epoch`; kAtOnce: for none.
  // From now on it is told apart from others, whether or not blocks come.
  uint64_t Open(uint64_t epoch) {
    if (epoch <= completed_) return kAtOnce;
    if (waiting_.count(epoch) > 0) return epoch;
    std::erase_if(waiting_,
                  [&](const auto& w) { return w.first <= completed_ && w.second.empty(); });
    if (waiting_.size() < num_sets_) {
      waiting_[epoch];
      return epoch;
    }
    const auto younger = waiting_.upper_bound(epoch);
    if (younger != waiting_.end()) return younger->first;
    auto youngest = waiting_.extract(std::prev(waiting_.end()));
    youngest.key() = epoch;
    waiting_.insert(std::move(youngest));
    return epoch;
  }
  void Add(uint64_t epoch, BlockId id) { waiting_[epoch].insert(id); }

  void Complete(uint64_t epoch) { completed_ = std::max(completed_, epoch); }
  // The blocks whose epoch has completed; they wait no more.
  std::set<BlockId> TakeDue() {
    std::set<BlockId> due;
    for (auto& [epoch, ids] : waiting_) {
      if (epoch <= completed_) due.merge(ids);
    }
    return due;
  }

  uint64_t completed() const { return completed_; }
  size_t size() const {
    size_t size = 0;
    for (const auto& [epoch, ids] : waiting_) size += ids.size();
    return size;
  }
  uint64_t WaitsFor(BlockId id) const {
    for (const auto& [epoch, ids] : waiting_) {
      if (ids.count(id) > 0) return epoch;
    }
    return 0;
  }

 private:
  size_t num_sets_;
  uint64_t completed_ = 0;
  std::map<uint64_t, std::set<BlockId>> waiting_;  // by epoch
};

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_MODEL_PENDING_MODEL_H_
