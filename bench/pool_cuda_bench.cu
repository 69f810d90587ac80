// SPDX-License-Identifier: Apache-2.0
//
// The pool in kernels: blocks per second that are handed out, taken back, and both in turn, by
// single threads, coalesced groups, warps and thread blocks. The same program has the limits of
// the hardware (pool_limits_bench.cu), what one would write without kvpage (pool_naive_bench.cu),
// and the proof that the pool is exact at this speed (pool_exact_bench.cu). Not measured: what a
// kernel does with its blocks, and other kernels beside it.

#include <benchmark/benchmark.h>

#include <cstdint>

#include "bench/kvpage_pool.cuh"
#include "bench/pool_benchmarks.cuh"

namespace kvpage::bench {
namespace {

void Threads(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"threads", "per_block"})->Iterations(50)->UseManualTime();
  bench->Args({kPoolBlocks / 2, 256})->Args({kPoolBlocks / 2, 1024})->Args({kPoolBlocks, 256});
  bench->Args({1 << 14, 128});
}

// Enough blocks for everybody.
void Churns(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"threads", "rounds", "held_permille", "random"});
  bench->Iterations(20)->UseManualTime();
  bench->Args({kChurnThreads, kChurnRounds, 0, 0});
  for (const int held : {500, 740}) {
    for (const int random : {0, 1}) bench->Args({kChurnThreads, kChurnRounds, held, random});
  }
}

// 1280 blocks are left: enough for 1024 threads.
void NearlyFullChurns(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"threads", "rounds", "held_permille", "random"});
  bench->Iterations(10)->UseManualTime();
  bench->Args({1024, kChurnRounds, 0, 0});
  for (const int random : {0, 1}) bench->Args({1024, kChurnRounds, 999, random});
}
// The same for all threads, of which most are told Full.
void CrowdedChurns(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"threads", "rounds", "held_permille", "random"});
  bench->Iterations(3)->UseManualTime();
  for (const int random : {0, 1}) bench->Args({kChurnThreads, kChurnRounds, 999, random});
}

// 99.9 % of 2^28 blocks are held, and what is left is just enough for all threads.
void LargeChurns(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"log2_blocks", "threads", "rounds", "left_free"});
  bench->Iterations(5)->UseManualTime();
  bench->Args({28, kChurnThreads, kChurnRounds, 270592});
}

#define KVPAGE_POOL(POOL)                                          \
  BENCHMARK_TEMPLATE(BM_PoolAlloc, POOL)->Apply(Threads);          \
  BENCHMARK_TEMPLATE(BM_PoolFree, POOL)->Apply(Threads);           \
  BENCHMARK_TEMPLATE(BM_PoolChurn, POOL)->Apply(Churns);           \
  BENCHMARK_TEMPLATE(BM_PoolChurn, POOL)->Apply(NearlyFullChurns); \
  BENCHMARK_TEMPLATE(BM_PoolChurn, POOL)->Apply(CrowdedChurns);    \
  BENCHMARK_TEMPLATE(BM_PoolChurnLeavingFree, POOL)->Apply(LargeChurns)

KVPAGE_POOL(KvpageWarp);
KVPAGE_POOL(KvpageCoalesced);
KVPAGE_POOL(KvpageThread);
KVPAGE_POOL(KvpageBlock);
#undef KVPAGE_POOL

}  // namespace
}  // namespace kvpage::bench
