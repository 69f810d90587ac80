// SPDX-License-Identifier: Apache-2.0
//
// bench/naive/bump.cuh
//
// One counter that every thread bumps. Not an allocator: nothing comes back, and when the ids are
// used up they are handed out again. It is the floor of every design with one counter.

#ifndef KVPAGE_BENCH_NAIVE_BUMP_CUH_
#define KVPAGE_BENCH_NAIVE_BUMP_CUH_

#include <cstdint>

#include "bench/device_pool.cuh"

namespace kvpage::bench {

class DeviceBump {
 public:
  using Id = BlockId;
  struct Storage {
    uint32_t* next;
    uint32_t num_blocks;
  };
  static constexpr bool kIsFinite = false;
  static constexpr bool kIsExact = false;

  static Storage Carve(Carver& carver, const BlockPoolOptions& options) {
    return {carver.Take<uint32_t>(1), options.num_blocks};
  }

  __device__ explicit DeviceBump(const Storage& storage) : s_(storage) {}

  __device__ void Init(uint64_t worker, uint64_t) const {
    if (worker == 0) *s_.next = 0;
  }
  __device__ BlockId TryAllocateOne() const { return 1 + atomicAdd(s_.next, 1u) % s_.num_blocks; }
  __device__ void Release(BlockId) const {}

 private:
  Storage s_;
};

static_assert(DevicePool<DeviceBump>);

}  // namespace kvpage::bench

#endif  // KVPAGE_BENCH_NAIVE_BUMP_CUH_
