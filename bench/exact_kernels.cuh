// SPDX-License-Identifier: Apache-2.0
//
// bench/exact_kernels.cuh
//
// Kernels that see whether a pool is exact while it runs at full speed.

#ifndef KVPAGE_BENCH_EXACT_KERNELS_CUH_
#define KVPAGE_BENCH_EXACT_KERNELS_CUH_

#include <cstdint>

#include "bench/device_pool.cuh"

namespace kvpage::bench {

struct BesideTooMuch {
  uint32_t requesters;  // so many thread blocks have one warp that asks for too much, again and
                        // again, until the churn of the others is over
  uint32_t too_much;    // blocks that are never free at once
  uint32_t rounds;      // of the churn
};

struct BesideTooMuchCounts {
  unsigned long long refused;  // of the churn's requests
  unsigned long long asked;    // requests for too much
  unsigned long long granted;  // of those
  uint32_t churned;            // thread blocks that are through
};

// The first thread blocks are the requesters, so that they run from the beginning.
template <BulkDevicePool P>
__global__ void __launch_bounds__(1024)
    ChurnBesideTooMuch(const __grid_constant__ typename P::Storage storage, BesideTooMuch what,
                       typename P::Id* ids, BesideTooMuchCounts* counts) {
  P pool(storage);
  if (blockIdx.x < what.requesters) {
    if (threadIdx.x >= 32) return;
    const uint32_t churning = gridDim.x - what.requesters;
    unsigned long long asked = 0;
    unsigned long long granted = 0;
    // Bounded, though the others wait for nobody. One lane looks, so that all go on together.
    for (; asked < (1u << 20); ++asked) {
      const uint32_t churned = threadIdx.x == 0 ? atomicAdd(&counts->churned, 0u) : 0;
      if (__shfl_sync(~0u, churned, 0) >= churning) break;
      granted += pool.TryAllocateMany(what.too_much, ids);
    }
    if (threadIdx.x != 0) return;
    atomicAdd(&counts->asked, asked);
    atomicAdd(&counts->granted, granted);
    return;
  }
  uint32_t refused = 0;
  for (uint32_t round = 0; round < what.rounds; ++round) {
    const typename P::Id id = pool.TryAllocateOne();
    refused += id == 0;
    pool.Release(id);
  }
  if (refused > 0) atomicAdd(&counts->refused, static_cast<unsigned long long>(refused));
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(&counts->churned, 1u);
}

// times[id]: how often each id is among the `n`; the null block is one of them.
inline __global__ void CountIds(const BlockId* ids, uint32_t n, uint32_t num_blocks,
                                uint32_t* times) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  // One that is no id at all counts as one too many of the last.
  if (i < n) atomicAdd(&times[ids[i] <= num_blocks ? ids[i] : num_blocks], 1u);
}

}  // namespace kvpage::bench

#endif  // KVPAGE_BENCH_EXACT_KERNELS_CUH_
