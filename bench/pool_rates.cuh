// SPDX-License-Identifier: Apache-2.0
//
// bench/pool_rates.cuh
//
// The rates that a pool's are told beside. Each is measured once in a process, when it is first
// asked for.

#ifndef KVPAGE_BENCH_POOL_RATES_CUH_
#define KVPAGE_BENCH_POOL_RATES_CUH_

#include <benchmark/benchmark.h>

#include <cstdint>
#include <map>
#include <tuple>

#include "bench/naive/bump.cuh"
#include "bench/pool_limits.cuh"
#include "bench/pool_under_test.cuh"
#include "bench/samples.h"

namespace kvpage::bench {

inline constexpr uint32_t kPoolBits = 20;
inline constexpr uint32_t kPoolBlocks = 1 << kPoolBits;
inline constexpr uint32_t kChurnThreads = 270336;  // as many as an H200 can hold
inline constexpr uint32_t kChurnRounds = 64;

// Atomics of warp leaders on spread counters, per second.
inline double SpreadAtomicRate() {
  static const double rate = [] {
    constexpr Pattern kPattern = Pattern::kSpreadByWarp;
    GpuTimer timer;
    // The first to be measured: the clock of an idle GPU is low, so it is warmed up for long.
    const double seconds = MedianOf(200, 20, [&] {
      return LimitSeconds<kPattern, Returns::kAtom>(timer, kChurnThreads, kChurnRounds);
    });
    return static_cast<double>(LimitAtomics(kPattern, kChurnThreads, kChurnRounds)) / seconds;
  }();
  return rate;
}

// Blocks per second of a kernel in which each of `threads` threads bumps one counter, keeping the
// id (rounds = 0), or `rounds` times.
inline double BumpRate(uint32_t threads, uint32_t per_block, uint32_t rounds) {
  static std::map<std::tuple<uint32_t, uint32_t, uint32_t>, double>& rates =
      *new std::map<std::tuple<uint32_t, uint32_t, uint32_t>, double>();
  double& rate = rates[{threads, per_block, rounds}];
  if (rate != 0) return rate;
  SpreadAtomicRate();  // warms up
  PoolUnderTest<DeviceBump> bump({.num_blocks = kPoolBlocks}, threads);
  GpuTimer timer;
  const double seconds = MedianOf(2, 20, [&] {
    return timer.Seconds([&] {
      if (rounds == 0) {
        bump.Take(threads, per_block);
      } else {
        bump.Run(threads, per_block, rounds);
      }
    });
  });
  rate = static_cast<double>(threads) * (rounds == 0 ? 1 : rounds) / seconds;
  return rate;
}

// Counters of a row that moved so many blocks a second. of_bump: as a part of `bump`, the rate of
// a bump counter in a kernel of the same shape; per_spread_atomic: blocks in the time of one warp
// leader's atomic on a spread counter.
inline void ReportBlocks(benchmark::State& state, double per_second, double bump) {
  state.counters["items_per_second"] = per_second;
  state.counters["of_bump"] = per_second / bump;
  state.counters["per_spread_atomic"] = per_second / SpreadAtomicRate();
}

}  // namespace kvpage::bench

#endif  // KVPAGE_BENCH_POOL_RATES_CUH_
