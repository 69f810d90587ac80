// SPDX-License-Identifier: Apache-2.0
//
// bench/naive/mutex_list.cuh
//
// A list of free ids under one spin lock for the whole GPU, which every thread takes for itself.

#ifndef KVPAGE_BENCH_NAIVE_MUTEX_LIST_CUH_
#define KVPAGE_BENCH_NAIVE_MUTEX_LIST_CUH_

#include <cstdint>

#include "bench/device_pool.cuh"
#include "bench/naive/bounded_spin.cuh"

namespace kvpage::bench {

class DeviceMutexList {
 public:
  using Id = BlockId;
  struct Storage {
    uint32_t* lock;
    uint32_t* num_free;
    BlockId* free;
    uint32_t num_blocks;
  };
  static constexpr bool kIsFinite = true;
  static constexpr bool kIsExact = true;

  static Storage Carve(Carver& carver, const BlockPoolOptions& options) {
    return {carver.Take<uint32_t>(1), carver.Take<uint32_t>(1),
            carver.Take<BlockId>(options.num_blocks), options.num_blocks};
  }

  __device__ explicit DeviceMutexList(const Storage& storage) : s_(storage) {}

  __device__ void Init(uint64_t worker, uint64_t num_workers) const {
    for (uint64_t i = worker; i < s_.num_blocks; i += num_workers) {
      s_.free[i] = static_cast<BlockId>(s_.num_blocks - i);
    }
    if (worker != 0) return;
    *s_.lock = 0;
    *s_.num_free = s_.num_blocks;
  }
  __device__ BlockId TryAllocateOne() const {
    BlockId id = kNullBlock;
    Locked(true, [&] {
      const uint32_t n = Volatile(*s_.num_free);
      if (n == 0) return;
      id = Volatile(s_.free[n - 1]);
      Volatile(*s_.num_free) = n - 1;
    });
    return id;
  }
  __device__ void Release(BlockId id) const {
    Locked(id != kNullBlock, [&] {
      const uint32_t n = Volatile(*s_.num_free);
      Volatile(s_.free[n]) = id;
      Volatile(*s_.num_free) = n + 1;
    });
  }

 private:
  // Calls f with the lock if this lane wants to; a lane that never gets it goes without. The
  // lanes of a warp have it in turn: if they waited together, the compiler may let the one that
  // has it wait for those that do not.
  template <class F>
  __device__ void Locked(bool wants, F f) const {
#pragma unroll 1
    for (uint32_t lane = 0; lane < 32; ++lane) {
      if (wants && threadIdx.x % 32 == lane &&
          BoundedSpin([&] { return atomicCAS(s_.lock, 0u, 1u) == 0; })) {
        __threadfence();
        f();
        __threadfence();
        atomicExch(s_.lock, 0u);
      }
      __syncwarp();
    }
  }

  Storage s_;
};

static_assert(DevicePool<DeviceMutexList>);

}  // namespace kvpage::bench

#endif  // KVPAGE_BENCH_NAIVE_MUTEX_LIST_CUH_
