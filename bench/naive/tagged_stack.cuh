// SPDX-License-Identifier: Apache-2.0
//
// bench/naive/tagged_stack.cuh
//
// Treiber's stack of free ids: a linked list whose head is changed by compare-and-swap, with a
// tag in the head that grows with every change, so that a head seen before is not taken for the
// same.

#ifndef KVPAGE_BENCH_NAIVE_TAGGED_STACK_CUH_
#define KVPAGE_BENCH_NAIVE_TAGGED_STACK_CUH_

#include <cstdint>

#include "bench/device_pool.cuh"
#include "bench/naive/bounded_spin.cuh"

namespace kvpage::bench {

class DeviceTaggedStack {
 public:
  using Id = BlockId;
  struct Storage {
    unsigned long long* head;  // tag << 32 | id
    BlockId* next;             // next[id] is below it
    uint32_t num_blocks;
  };
  static constexpr bool kIsFinite = true;
  static constexpr bool kIsExact = true;

  static Storage Carve(Carver& carver, const BlockPoolOptions& options) {
    return {carver.Take<unsigned long long>(1),
            carver.Take<BlockId>(options.num_blocks + uint64_t{1}), options.num_blocks};
  }

  __device__ explicit DeviceTaggedStack(const Storage& storage) : s_(storage) {}

  __device__ void Init(uint64_t worker, uint64_t num_workers) const {
    for (uint64_t id = worker; id <= s_.num_blocks; id += num_workers) {
      s_.next[id] = id < s_.num_blocks ? static_cast<BlockId>(id + 1) : kNullBlock;
    }
    if (worker == 0) *s_.head = 1;
  }
  __device__ BlockId TryAllocateOne() const {
    BlockId id = kNullBlock;
    unsigned long long head = Volatile(*s_.head);
    const bool taken = BoundedSpin([&] {
      id = static_cast<BlockId>(head);
      if (id == kNullBlock) return true;
      // May be another's business by now; then the tag has changed and the swap fails.
      return Swap(head, Volatile(s_.next[id]));
    });
    __threadfence();
    return taken ? id : kNullBlock;
  }
  __device__ void Release(BlockId id) const {
    if (id == kNullBlock) return;
    unsigned long long head = Volatile(*s_.head);
    BoundedSpin([&] {
      Volatile(s_.next[id]) = static_cast<BlockId>(head);
      __threadfence();
      return Swap(head, id);
    });
  }

 private:
  __device__ bool Swap(unsigned long long& head, BlockId top) const {
    const unsigned long long expected = head;
    head = atomicCAS(s_.head, expected, ((expected >> 32) + 1) << 32 | top);
    return head == expected;
  }

  Storage s_;
};

static_assert(DevicePool<DeviceTaggedStack>);

}  // namespace kvpage::bench

#endif  // KVPAGE_BENCH_NAIVE_TAGGED_STACK_CUH_
