// SPDX-License-Identifier: Apache-2.0
//
// bench/naive/ring.cuh
//
// A ring of free ids behind a counting semaphore, by tickets. A request lowers the semaphore and,
// if there was not enough, raises it again. Fast, and wrong: between the two steps blocks that
// are free look taken, and others are told Full.

#ifndef KVPAGE_BENCH_NAIVE_RING_CUH_
#define KVPAGE_BENCH_NAIVE_RING_CUH_

#include <cstdint>

#include "bench/device_pool.cuh"
#include "bench/naive/bounded_spin.cuh"

namespace kvpage::bench {

class DeviceRing {
 public:
  using Id = BlockId;
  struct Storage {
    int32_t* num_free;  // the semaphore; the three words are 256 bytes apart
    uint32_t* head;     // tickets of takers
    uint32_t* tail;     // tickets of givers
    BlockId* slots;     // null: empty
    uint32_t num_blocks;
    uint32_t num_slots;  // a power of two, so that tickets may wrap
  };
  static constexpr bool kIsFinite = true;
  static constexpr bool kIsExact = false;

  static Storage Carve(Carver& carver, const BlockPoolOptions& options) {
    uint32_t num_slots = 1;
    while (num_slots < options.num_blocks) num_slots *= 2;
    return {carver.Take<int32_t>(1),         carver.Take<uint32_t>(1), carver.Take<uint32_t>(1),
            carver.Take<BlockId>(num_slots), options.num_blocks,       num_slots};
  }

  __device__ explicit DeviceRing(const Storage& storage) : s_(storage) {}

  __device__ void Init(uint64_t worker, uint64_t num_workers) const {
    for (uint64_t i = worker; i < s_.num_slots; i += num_workers) {
      s_.slots[i] = i < s_.num_blocks ? static_cast<BlockId>(i + 1) : kNullBlock;
    }
    if (worker != 0) return;
    *s_.num_free = static_cast<int32_t>(s_.num_blocks);
    *s_.head = 0;
    *s_.tail = s_.num_blocks;
  }
  __device__ BlockId TryAllocateOne() const { return Reserve(1) ? Pop() : kNullBlock; }
  __device__ bool TryAllocateMany(uint32_t n, BlockId* ids) const {
    const bool reserved = __shfl_sync(~0u, threadIdx.x % 32 == 0 && Reserve(n), 0);
    if (!reserved) return false;
    for (uint32_t i = threadIdx.x % 32; i < n; i += 32) ids[i] = Pop();
    return true;
  }
  __device__ void Release(BlockId id) const {
    if (id == kNullBlock) return;
    BlockId* const slot = Slot(s_.tail);
    __threadfence();
    // The taker of this slot's last round has its ticket, but may not have read the id yet.
    BoundedSpin([&] { return atomicCAS(slot, kNullBlock, id) == kNullBlock; });
    __threadfence();
    atomicAdd(s_.num_free, 1);
  }

 private:
  __device__ bool Reserve(uint32_t n) const {
    const int32_t want = static_cast<int32_t>(n);
    if (atomicSub(s_.num_free, want) >= want) return true;
    atomicAdd(s_.num_free, want);
    return false;
  }
  __device__ BlockId Pop() const {
    BlockId* const slot = Slot(s_.head);
    BlockId id = kNullBlock;
    // The giver of this slot has its ticket, but may not have written the id yet.
    BoundedSpin([&] {
      id = atomicExch(slot, kNullBlock);
      return id != kNullBlock;
    });
    __threadfence();
    return id;
  }
  __device__ BlockId* Slot(uint32_t* tickets) const {
    return &s_.slots[atomicAdd(tickets, 1u) & (s_.num_slots - 1)];
  }

  Storage s_;
};

static_assert(BulkDevicePool<DeviceRing>);

}  // namespace kvpage::bench

#endif  // KVPAGE_BENCH_NAIVE_RING_CUH_
