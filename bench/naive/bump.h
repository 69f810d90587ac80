// SPDX-License-Identifier: Apache-2.0
//
// bench/naive/bump.h
//
// One counter that every thread bumps. Not an allocator: nothing comes back, and when the ids are
// used up they are handed out again. It is the floor of every design with one counter.

#ifndef KVPAGE_BENCH_NAIVE_BUMP_H_
#define KVPAGE_BENCH_NAIVE_BUMP_H_

#include <atomic>
#include <cstdint>

#include "absl/types/span.h"

#include "kvpage/core/types.h"

namespace kvpage::bench {

class BumpPool {
 public:
  static constexpr bool kIsExact = false;

  explicit BumpPool(uint32_t num_blocks) : num_blocks_(num_blocks) {}

  bool TryAllocate(absl::Span<BlockId> ids) {
    const uint32_t n = static_cast<uint32_t>(ids.size());
    uint32_t next = next_.fetch_add(n, std::memory_order_relaxed);
    for (BlockId& id : ids) id = 1 + next++ % num_blocks_;
    return true;
  }
  void Release(absl::Span<const BlockId>) {}

 private:
  alignas(64) std::atomic<uint32_t> next_{0};
  uint32_t num_blocks_;
};

}  // namespace kvpage::bench

#endif  // KVPAGE_BENCH_NAIVE_BUMP_H_
