// SPDX-License-Identifier: Apache-2.0
//
// bench/pool_kernels.cuh
//
// The kernels that every DevicePool is measured by. Grids are of whole thread blocks.

#ifndef KVPAGE_BENCH_POOL_KERNELS_CUH_
#define KVPAGE_BENCH_POOL_KERNELS_CUH_

#include <cstdint>

#include "bench/device_pool.cuh"
#include "bench/permute.h"

namespace kvpage::bench {

// As many threads as a multiprocessor holds: without it the compiler takes more registers, and
// fewer threads run at a time.
inline constexpr uint32_t kMostThreads = 1024;
inline constexpr uint32_t kBlocksPerSm = 2;

__device__ inline uint32_t ThreadOfGrid() { return blockIdx.x * blockDim.x + threadIdx.x; }

template <DevicePool P>
__global__ void InitPool(const __grid_constant__ typename P::Storage storage) {
  P(storage).Init(uint64_t{blockIdx.x} * blockDim.x + threadIdx.x,
                  uint64_t{gridDim.x} * blockDim.x);
}

// Every thread takes one block. ids may be null: then nobody holds them. *missing: threads that
// got none.
template <DevicePool P>
__global__ void __launch_bounds__(kMostThreads, kBlocksPerSm)
    Allocate(const __grid_constant__ typename P::Storage storage, typename P::Id* ids,
             unsigned long long* missing) {
  P pool(storage);
  const typename P::Id id = pool.TryAllocateOne();
  if (ids != nullptr) ids[ThreadOfGrid()] = id;
  if (id == 0) atomicAdd(missing, 1ull);
}

template <DevicePool P>
__global__ void __launch_bounds__(kMostThreads, kBlocksPerSm)
    Free(const __grid_constant__ typename P::Storage storage, const typename P::Id* ids) {
  P pool(storage);
  pool.Release(ids[ThreadOfGrid()]);
}

// Frees blocks at random places of a pool of 2^bits that are all taken, one for each thread.
template <DevicePool P>
__global__ void __launch_bounds__(kMostThreads, kBlocksPerSm)
    FreeAtRandom(const __grid_constant__ typename P::Storage storage, uint32_t bits) {
  P pool(storage);
  pool.Release(Permute(ThreadOfGrid(), bits) + 1);
}

// Every thread takes a block and gives it back, `rounds` times.
template <DevicePool P>
__global__ void __launch_bounds__(kMostThreads, kBlocksPerSm)
    Churn(const __grid_constant__ typename P::Storage storage, uint32_t rounds,
          unsigned long long* missing) {
  P pool(storage);
  uint32_t failed = 0;
  for (uint32_t round = 0; round < rounds; ++round) {
    const typename P::Id id = pool.TryAllocateOne();
    failed += id == 0;
    pool.Release(id);
  }
  if (failed > 0) atomicAdd(missing, static_cast<unsigned long long>(failed));
}

}  // namespace kvpage::bench

#endif  // KVPAGE_BENCH_POOL_KERNELS_CUH_
