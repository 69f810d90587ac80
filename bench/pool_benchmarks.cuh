// SPDX-License-Identifier: Apache-2.0
//
// bench/pool_benchmarks.cuh
//
// What is measured of every DevicePool: blocks that are taken, given back, and both in turn. The
// pool has 2^20 blocks. Each row checks what it measured, and says so instead of a rate if it was
// wrong. Set-up and checks are outside the times.

#ifndef KVPAGE_BENCH_POOL_BENCHMARKS_CUH_
#define KVPAGE_BENCH_POOL_BENCHMARKS_CUH_

#include <benchmark/benchmark.h>

#include <cstdint>

#include "bench/churn_case.cuh"
#include "bench/pool_rates.cuh"

namespace kvpage::bench {

// Whether the pool, of which `threads` blocks have been taken, refuses when all are.
template <DevicePool P>
bool RefusesWhenFull(PoolUnderTest<P>& pool, uint32_t threads) {
  if (!P::kIsFinite || threads < pool.options().num_blocks) return true;
  pool.Take(32, 32);
  return pool.TakeMissing() == 32;
}

// `threads` threads take one block each from a pool where all are free.
template <DevicePool P>
void BM_PoolAlloc(benchmark::State& state) {
  const uint32_t threads = static_cast<uint32_t>(state.range(0));
  const uint32_t per_block = static_cast<uint32_t>(state.range(1));
  const double bump = BumpRate(threads, per_block, 0);
  PoolUnderTest<P> pool({.num_blocks = kPoolBlocks}, threads);
  GpuTimer timer;
  Samples samples;
  pool.Take(threads, per_block);  // warm up
  pool.GiveBack(threads, per_block);
  for (auto _ : state) {
    pool.Reset();
    samples.Add(state, timer.Seconds([&] { pool.Take(threads, per_block); }));
    if (pool.TakeMissing() != 0) state.SkipWithError("a thread got no block");
    if (!RefusesWhenFull(pool, threads)) state.SkipWithError("a full pool gave a block");
    if (!P::kIsFinite) pool.GiveBack(threads, per_block);
  }
  ReportBlocks(state, threads / samples.Median(), bump);
}

// The same threads give them back.
template <DevicePool P>
void BM_PoolFree(benchmark::State& state) {
  const uint32_t threads = static_cast<uint32_t>(state.range(0));
  const uint32_t per_block = static_cast<uint32_t>(state.range(1));
  const double bump = BumpRate(threads, per_block, 0);
  PoolUnderTest<P> pool({.num_blocks = kPoolBlocks}, threads);
  GpuTimer timer;
  Samples samples;
  pool.Take(threads, per_block);
  pool.GiveBack(threads, per_block);  // warm up
  for (auto _ : state) {
    pool.Take(threads, per_block);
    if (pool.TakeMissing() != 0) state.SkipWithError("a thread got no block");
    samples.Add(state, timer.Seconds([&] { pool.GiveBack(threads, per_block); }));
  }
  ReportBlocks(state, threads / samples.Median(), bump);
}

// Every thread takes a block and gives it back, `rounds` times, while some blocks are held.
template <DevicePool P>
void BM_PoolChurn(benchmark::State& state) {
  RunChurn<P>(state, {.bits = kPoolBits,
                      .threads = static_cast<uint32_t>(state.range(0)),
                      .rounds = static_cast<uint32_t>(state.range(1)),
                      .held = HeldBlocks(kPoolBlocks, state.range(2)),
                      .how = state.range(3) != 0 ? Held::kRandom : Held::kPacked});
}

// The same for pools of another size, of which a number of blocks is left free at random places.
template <DevicePool P>
void BM_PoolChurnLeavingFree(benchmark::State& state) {
  const uint32_t bits = static_cast<uint32_t>(state.range(0));
  RunChurn<P>(state, {.bits = bits,
                      .threads = static_cast<uint32_t>(state.range(1)),
                      .rounds = static_cast<uint32_t>(state.range(2)),
                      .held = (1u << bits) - static_cast<uint32_t>(state.range(3)),
                      .how = Held::kRandom});
}

}  // namespace kvpage::bench

#endif  // KVPAGE_BENCH_POOL_BENCHMARKS_CUH_
