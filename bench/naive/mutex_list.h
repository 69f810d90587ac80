// SPDX-License-Identifier: Apache-2.0
//
// bench/naive/mutex_list.h
//
// What a server without kvpage would write: a list of free ids and reference counts, one lock.

#ifndef KVPAGE_BENCH_NAIVE_MUTEX_LIST_H_
#define KVPAGE_BENCH_NAIVE_MUTEX_LIST_H_

#include <cstdint>
#include <mutex>
#include <numeric>
#include <vector>

#include "absl/types/span.h"

#include "kvpage/core/types.h"

namespace kvpage::bench {

class MutexListPool {
 public:
  static constexpr bool kIsExact = true;

  explicit MutexListPool(uint32_t num_blocks) : references_(num_blocks + 1), free_(num_blocks) {
    std::iota(free_.rbegin(), free_.rend(), 1u);
  }

  bool TryAllocate(absl::Span<BlockId> ids) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (free_.size() < ids.size()) return false;
    for (BlockId& id : ids) {
      id = free_.back();
      free_.pop_back();
      references_[id] = 1;
    }
    return true;
  }
  void Release(absl::Span<const BlockId> ids) {
    std::lock_guard<std::mutex> lock(mutex_);
    for (const BlockId id : ids) {
      if (--references_[id] == 0) free_.push_back(id);
    }
  }

 private:
  std::mutex mutex_;
  std::vector<uint32_t> references_;
  std::vector<BlockId> free_;
};

}  // namespace kvpage::bench

#endif  // KVPAGE_BENCH_NAIVE_MUTEX_LIST_H_
