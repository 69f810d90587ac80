// SPDX-License-Identifier: Apache-2.0
//
// bench/pool_limits.cuh
//
// What the hardware gives: plain atomics in the patterns that an allocator cannot do without. The
// pool's numbers are told as ratios to these, measured in the same run, because GPUs of one kind
// differ by some percent.

#ifndef KVPAGE_BENCH_POOL_LIMITS_CUH_
#define KVPAGE_BENCH_POOL_LIMITS_CUH_

#include <cstdint>

#include "bench/gpu_timer.h"
#include "kvpage/core/bits.h"

namespace kvpage::bench {

inline constexpr uint32_t kThreadsPerBlock = 256;

enum class Limit {
  kBumpCounter,     // every lane adds 1 to one counter and uses the old value: an allocator that
                    // never frees
  kOneCounter,      // one lane of each warp adds to one counter
  kSpreadCounters,  // one lane of each warp adds to one of 64 counters, 256 bytes apart
  kRandomWords,     // every lane sets a bit in a random word of a large array
};

inline constexpr uint64_t kLimitWords = 1 << 20;

template <Limit kLimit>
__global__ void RunLimit(unsigned long long* words, unsigned long long* sink, uint32_t rounds) {
  const uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
  const uint32_t warp = thread / 32;
  unsigned long long seen = 0;
  for (uint32_t round = 0; round < rounds; ++round) {
    if constexpr (kLimit == Limit::kBumpCounter) {
      seen += atomicAdd(&words[0], 1ull);
    } else if constexpr (kLimit == Limit::kRandomWords) {
      seen += atomicOr(&words[MixBits(thread | uint64_t{round} << 32) % kLimitWords], 1ull);
    } else if (threadIdx.x % 32 == 0) {
      const uint32_t counter = kLimit == Limit::kOneCounter ? 0 : warp % 64;
      seen += atomicAdd(&words[counter * 32], 1ull);
    }
  }
  if (seen == ~0ull) *sink = seen;  // never, but the compiler cannot know: old values are used
}

// Atomics per second (lanes' for kBumpCounter and kRandomWords, warps' else) of `threads` threads.
template <Limit kLimit>
double LimitSeconds(GpuTimer& timer, uint32_t threads, uint32_t rounds) {
  static DeviceArray<unsigned long long>& words =
      *new DeviceArray<unsigned long long>(kLimitWords + 1);
  return timer.Seconds([&] {
    RunLimit<kLimit><<<threads / kThreadsPerBlock, kThreadsPerBlock>>>(
        words.get(), words.get() + kLimitWords, rounds);
  });
}

}  // namespace kvpage::bench

#endif  // KVPAGE_BENCH_POOL_LIMITS_CUH_
