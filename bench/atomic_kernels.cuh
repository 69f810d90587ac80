// SPDX-License-Identifier: Apache-2.0
//
// bench/atomic_kernels.cuh
//
// One kernel for each thing that can be done to atomics on hot words, for the profiler. Each has
// the kernel beside it that does the same without:
//
//   AddApart<bytes>  a lane of each warp adds to one of 64 counters that lie `bytes` apart
//   AddAcqRel        AddApart<256>, but every addition acquires and releases
//   AddKept          every lane adds to a random word and uses the old value
//   AddDropped       the same without the old value
//   TicketEach       every lane takes a number from one of 8 counters
//   TicketMatched    the same; lanes of a warp that meet at a counter send their leader
//   CountEach        every lane adds to one of 8 counters
//   CountShared      the same in shared memory first: one atomic per thread block and counter
//
// Grids are of kThreads threads; every thread does kRounds rounds. The words are kWords long.

#ifndef KVPAGE_BENCH_ATOMIC_KERNELS_CUH_
#define KVPAGE_BENCH_ATOMIC_KERNELS_CUH_

#include <cstdint>

#include "kvpage/core/bits.h"

namespace kvpage::bench::atomics {

inline constexpr uint32_t kThreads = 256;
inline constexpr uint32_t kRounds = 16;
inline constexpr uint32_t kWords = 1 << 20;
inline constexpr uint32_t kCounters = 8;
inline constexpr uint32_t kStride = 64;  // words from one of them to the next: 256 bytes

__device__ inline uint32_t Thread() { return blockIdx.x * kThreads + threadIdx.x; }

__device__ inline uint64_t Random(uint32_t round) {
  return MixBits(Thread() | uint64_t{round} << 32);
}

// Never stores, but the compiler cannot know: the old values are used.
__device__ inline void Use(uint32_t* words, uint32_t seen) {
  if (seen == 0x9e3779b9u) words[kWords - 1] = seen;
}

template <uint32_t kBytes>
__global__ void AddApart(uint32_t* words) {
  if (threadIdx.x % 32 != 0) return;
  uint32_t seen = 0;
  for (uint32_t round = 0; round < kRounds; ++round) {
    seen += atomicAdd(&words[Thread() / 32 % 64 * (kBytes / 4)], 1u);
  }
  Use(words, seen);
}

template <uint32_t kBytes>
__global__ void AddAcqRel(uint32_t* words) {
  if (threadIdx.x % 32 != 0) return;
  uint32_t seen = 0;
  for (uint32_t round = 0; round < kRounds; ++round) {
    uint32_t old;
    asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], 1;"
                 : "=r"(old)
                 : "l"(__cvta_generic_to_global(&words[Thread() / 32 % 64 * (kBytes / 4)]))
                 : "memory");
    seen += old;
  }
  Use(words, seen);
}

__global__ void AddKept(uint32_t* words) {
  uint32_t seen = 0;
  for (uint32_t round = 0; round < kRounds; ++round) {
    seen += atomicAdd(&words[Random(round) % kWords], 1u);
  }
  Use(words, seen);
}

__global__ void AddDropped(uint32_t* words) {
  for (uint32_t round = 0; round < kRounds; ++round) {
    atomicAdd(&words[Random(round) % kWords], 1u);
  }
}

__global__ void TicketEach(uint32_t* words) {
  uint32_t seen = 0;
  for (uint32_t round = 0; round < kRounds; ++round) {
    seen += atomicAdd(&words[Random(round) % kCounters * kStride], 1u);
  }
  Use(words, seen);
}

__global__ void TicketMatched(uint32_t* words) {
  uint32_t seen = 0;
  const uint32_t lane = threadIdx.x % 32;
  for (uint32_t round = 0; round < kRounds; ++round) {
    uint32_t* const word = &words[Random(round) % kCounters * kStride];
    const uint32_t peers = __match_any_sync(~0u, reinterpret_cast<unsigned long long>(word));
    const uint32_t leader = LowestBit(peers);
    uint32_t first = 0;
    if (lane == leader) first = atomicAdd(word, PopCount(peers));
    seen += __shfl_sync(~0u, first, leader) + PopCount(peers & ((1u << lane) - 1));
  }
  Use(words, seen);
}

__global__ void CountEach(uint32_t* words) {
  for (uint32_t round = 0; round < kRounds; ++round) {
    atomicAdd(&words[Random(round) % kCounters * kStride], 1u);
  }
}

__global__ void CountShared(uint32_t* words) {
  __shared__ uint32_t counts[kCounters];
  if (threadIdx.x < kCounters) counts[threadIdx.x] = 0;
  __syncthreads();
  for (uint32_t round = 0; round < kRounds; ++round) {
    atomicAdd(&counts[Random(round) % kCounters], 1u);
  }
  __syncthreads();
  if (threadIdx.x < kCounters) atomicAdd(&words[threadIdx.x * kStride], counts[threadIdx.x]);
}

}  // namespace kvpage::bench::atomics

#endif  // KVPAGE_BENCH_ATOMIC_KERNELS_CUH_
