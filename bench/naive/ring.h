// SPDX-License-Identifier: Apache-2.0
//
// bench/naive/ring.h
//
// A ring of free ids behind a counting semaphore, by tickets. A request lowers the semaphore and,
// if there was not enough, raises it again. Fast, and wrong: between the two steps blocks that
// are free look taken, and others are told Full.

#ifndef KVPAGE_BENCH_NAIVE_RING_H_
#define KVPAGE_BENCH_NAIVE_RING_H_

#include <atomic>
#include <bit>
#include <cstdint>
#include <thread>
#include <vector>

#include "absl/types/span.h"

#include "kvpage/core/types.h"

namespace kvpage::bench {

class RingPool {
 public:
  static constexpr bool kIsExact = false;

  explicit RingPool(uint32_t num_blocks)
      : num_free_(num_blocks), tail_(num_blocks), slots_(std::bit_ceil(num_blocks)) {
    for (uint32_t i = 0; i < num_blocks; ++i) slots_[i] = i + 1;
  }

  bool TryAllocate(absl::Span<BlockId> ids) {
    const int64_t n = static_cast<int64_t>(ids.size());
    if (num_free_.fetch_sub(n, std::memory_order_acquire) < n) {
      num_free_.fetch_add(n, std::memory_order_relaxed);
      return false;
    }
    uint32_t ticket = head_.fetch_add(static_cast<uint32_t>(n), std::memory_order_relaxed);
    for (BlockId& id : ids) {
      std::atomic<BlockId>& slot = Slot(ticket++);
      // The giver of this slot has its ticket, but may not have written the id yet.
      while ((id = slot.exchange(kNullBlock, std::memory_order_acquire)) == kNullBlock) {
        std::this_thread::yield();
      }
    }
    return true;
  }
  void Release(absl::Span<const BlockId> ids) {
    const uint32_t n = static_cast<uint32_t>(ids.size());
    uint32_t ticket = tail_.fetch_add(n, std::memory_order_relaxed);
    for (const BlockId id : ids) {
      std::atomic<BlockId>& slot = Slot(ticket++);
      // The taker of this slot's last round has its ticket, but may not have read the id yet.
      BlockId empty = kNullBlock;
      while (!slot.compare_exchange_strong(empty, id, std::memory_order_release,
                                           std::memory_order_relaxed)) {
        empty = kNullBlock;
        std::this_thread::yield();
      }
    }
    num_free_.fetch_add(n, std::memory_order_release);
  }

 private:
  std::atomic<BlockId>& Slot(uint32_t ticket) { return slots_[ticket & (slots_.size() - 1)]; }

  alignas(64) std::atomic<int64_t> num_free_;  // the semaphore
  alignas(64) std::atomic<uint32_t> head_{0};  // tickets of takers
  alignas(64) std::atomic<uint32_t> tail_;     // tickets of givers
  std::vector<std::atomic<BlockId>> slots_;    // null: empty
};

}  // namespace kvpage::bench

#endif  // KVPAGE_BENCH_NAIVE_RING_H_
