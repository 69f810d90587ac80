// SPDX-License-Identifier: Apache-2.0
//
// bench/pool_limits.cuh
//
// What the hardware gives: plain atomics in the patterns that an allocator cannot do without, on
// 32-bit words, with the verbs that kvpage uses. The pool's numbers are told as ratios to these,
// measured in the same run, because GPUs of one kind differ by some percent.

#ifndef KVPAGE_BENCH_POOL_LIMITS_CUH_
#define KVPAGE_BENCH_POOL_LIMITS_CUH_

#include <cstdint>

#include "bench/gpu_timer.h"
#include "kvpage/core/bits.h"
#include "kvpage/cuda/cuda_atomics.cuh"

namespace kvpage::bench {

inline constexpr uint32_t kThreadsPerBlock = 256;

// Who adds, and where.
enum class Pattern {
  kOneWordByWarp,       // one lane of each warp, all at one address
  kOneWordByLane,       // every lane, all at one address; the hardware merges a warp's lanes
  kSpreadByWarp,        // one lane of each warp, at one of 64 counters that are 256 bytes apart
  kFencedSpreadByWarp,  // the same, with a fence.acq_rel.gpu before it
  kCoalesced,           // every lane, a warp at 32 adjacent words of kLimitWords
  kRandom,              // every lane, at a random one of kLimitWords
};

// kAtom is told the old value, kRed is not: that spares the way back.
enum class Returns { kAtom, kRed };

inline constexpr uint32_t kLimitWords = 1 << 20;
inline constexpr uint32_t kSpreadCounters = 64;
inline constexpr uint32_t kSpreadWords = 64;  // from one counter to the next: 256 bytes

KVPAGE_HOST_DEVICE constexpr bool ByLane(Pattern pattern) {
  return pattern == Pattern::kOneWordByLane || pattern == Pattern::kCoalesced ||
         pattern == Pattern::kRandom;
}

template <Pattern kPattern>
__device__ uint32_t LimitWord(uint32_t thread, uint32_t round) {
  const uint32_t warp = thread / 32;
  if constexpr (kPattern == Pattern::kRandom) {
    return static_cast<uint32_t>(MixBits(thread | uint64_t{round} << 32)) % kLimitWords;
  } else if constexpr (kPattern == Pattern::kCoalesced) {
    // Cheaper than MixBits: this pattern is so fast that the hash would be measured.
    return (warp * 0x9e3779b1u + round * 0x85ebca6bu) % kLimitWords / 32 * 32 + thread % 32;
  } else {
    constexpr bool kSpread =
        kPattern == Pattern::kSpreadByWarp || kPattern == Pattern::kFencedSpreadByWarp;
    return kSpread ? warp % kSpreadCounters * kSpreadWords : 0;
  }
}

template <Pattern kPattern, Returns kReturns>
__global__ void RunLimit(uint32_t* words, uint32_t* sink, uint32_t rounds) {
  const uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
  if (!ByLane(kPattern) && threadIdx.x % 32 != 0) return;
  uint32_t seen = 0;
  for (uint32_t round = 0; round < rounds; ++round) {
    uint32_t* const word = &words[LimitWord<kPattern>(thread, round)];
    if (kPattern == Pattern::kFencedSpreadByWarp) CudaAtomics::FenceAcqRel();
    if constexpr (kReturns == Returns::kAtom) {
      seen ^= CudaAtomics::FetchAddRelaxed(word, 1u);
    } else {
      CudaAtomics::AddRelaxed(word, 1u);
    }
  }
  // Unlikely, and the compiler cannot know: without a use of the old value `atom` becomes `red`.
  if (seen == 0xdeadbeef) *sink = seen;
}

// Atomics in one run of `threads` threads.
constexpr uint64_t LimitAtomics(Pattern pattern, uint32_t threads, uint32_t rounds) {
  return uint64_t{threads} / (ByLane(pattern) ? 1 : 32) * rounds;
}

template <Pattern kPattern, Returns kReturns>
double LimitSeconds(GpuTimer& timer, uint32_t threads, uint32_t rounds) {
  static DeviceArray<uint32_t>& words = *new DeviceArray<uint32_t>(kLimitWords + 1);
  return timer.Seconds([&] {
    RunLimit<kPattern, kReturns><<<threads / kThreadsPerBlock, kThreadsPerBlock>>>(
        words.get(), words.get() + kLimitWords, rounds);
  });
}

}  // namespace kvpage::bench

#endif  // KVPAGE_BENCH_POOL_LIMITS_CUH_
