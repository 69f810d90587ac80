// SPDX-License-Identifier: Apache-2.0
//
// bench/naive/tagged_stack.h
//
// Treiber's stack of free ids: a linked list whose head is changed by compare-and-swap, with a
// tag in the head that grows with every change, so that a head seen before is not taken for the
// same. A batch is so many single blocks, not all or none to anybody who looks.

#ifndef KVPAGE_BENCH_NAIVE_TAGGED_STACK_H_
#define KVPAGE_BENCH_NAIVE_TAGGED_STACK_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"

#include "kvpage/core/types.h"

namespace kvpage::bench {

class TaggedStackPool {
 public:
  static constexpr bool kIsExact = false;

  explicit TaggedStackPool(uint32_t num_blocks) : next_(num_blocks + 1) {
    for (uint32_t id = 1; id < num_blocks; ++id) next_[id] = id + 1;
  }

  bool TryAllocate(absl::Span<BlockId> ids) {
    for (size_t i = 0; i < ids.size(); ++i) {
      ids[i] = Pop();
      if (ids[i] != kNullBlock) continue;
      Release(ids.first(i));
      return false;
    }
    return true;
  }
  void Release(absl::Span<const BlockId> ids) {
    for (const BlockId id : ids) Push(id);
  }

 private:
  static BlockId Top(uint64_t head) { return static_cast<BlockId>(head); }
  static uint64_t Changed(uint64_t head, BlockId top) { return ((head >> 32) + 1) << 32 | top; }

  BlockId Pop() {
    uint64_t head = head_.load(std::memory_order_acquire);
    BlockId below;
    do {
      if (Top(head) == kNullBlock) return kNullBlock;
      // May be another's business by now; then the tag has changed and the swap fails.
      below = next_[Top(head)].load(std::memory_order_relaxed);
    } while (!head_.compare_exchange_weak(head, Changed(head, below), std::memory_order_acquire));
    return Top(head);
  }
  void Push(BlockId id) {
    uint64_t head = head_.load(std::memory_order_relaxed);
    do {
      next_[id].store(Top(head), std::memory_order_relaxed);
    } while (!head_.compare_exchange_weak(head, Changed(head, id), std::memory_order_release,
                                          std::memory_order_relaxed));
  }

  alignas(64) std::atomic<uint64_t> head_{1};  // tag << 32 | id
  std::vector<std::atomic<BlockId>> next_;     // next_[id] is below it
};

}  // namespace kvpage::bench

#endif  // KVPAGE_BENCH_NAIVE_TAGGED_STACK_H_
