// SPDX-License-Identifier: Apache-2.0
//
// What one would write without kvpage, by the pool's own benchmarks. Each has the number of
// threads that it can serve in a fraction of a second.

#include <benchmark/benchmark.h>

#include "bench/naive/bump.cuh"
#include "bench/naive/mutex_list.cuh"
#include "bench/naive/ring.cuh"
#include "bench/naive/tagged_stack.cuh"
#include "bench/pool_benchmarks.cuh"

namespace kvpage::bench {
namespace {

void Threads(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"threads", "per_block"})->Iterations(20)->UseManualTime();
  bench->Args({kPoolBlocks / 2, 256})->Args({kPoolBlocks, 256})->Args({1 << 14, 128});
}
void Churns(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"threads", "rounds", "held_permille", "random"});
  bench->Iterations(20)->UseManualTime();
  bench->Args({kChurnThreads, kChurnRounds, 0, 0})->Args({1024, kChurnRounds, 0, 0});
}

// For ways that serve one thread at a time.
void FewThreads(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"threads", "per_block"})->Iterations(5)->UseManualTime();
  bench->Args({1 << 10, 128})->Args({1 << 13, 128});
}
void FewChurns(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"threads", "rounds", "held_permille", "random"});
  bench->Iterations(3)->UseManualTime();
  bench->Args({1024, 8, 0, 0});
}

BENCHMARK_TEMPLATE(BM_PoolAlloc, DeviceBump)->Apply(Threads);
BENCHMARK_TEMPLATE(BM_PoolChurn, DeviceBump)->Apply(Churns);

BENCHMARK_TEMPLATE(BM_PoolAlloc, DeviceRing)->Apply(Threads);
BENCHMARK_TEMPLATE(BM_PoolFree, DeviceRing)->Apply(Threads);
BENCHMARK_TEMPLATE(BM_PoolChurn, DeviceRing)->Apply(Churns);

BENCHMARK_TEMPLATE(BM_PoolAlloc, DeviceTaggedStack)->Apply(FewThreads);
BENCHMARK_TEMPLATE(BM_PoolFree, DeviceTaggedStack)->Apply(FewThreads);
BENCHMARK_TEMPLATE(BM_PoolChurn, DeviceTaggedStack)->Apply(FewChurns);

BENCHMARK_TEMPLATE(BM_PoolAlloc, DeviceMutexList)->Apply(FewThreads);
BENCHMARK_TEMPLATE(BM_PoolFree, DeviceMutexList)->Apply(FewThreads);
BENCHMARK_TEMPLATE(BM_PoolChurn, DeviceMutexList)->Apply(FewChurns);

}  // namespace
}  // namespace kvpage::bench
