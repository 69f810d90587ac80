// SPDX-License-Identifier: Apache-2.0
//
// malloc and free in device code, by the pool's own benchmarks. In a source of its own, because
// the heap must be made large before the first kernel of a module that uses it is loaded.

#include <benchmark/benchmark.h>

#include "bench/naive/device_malloc.cuh"
#include "bench/pool_benchmarks.cuh"

namespace kvpage::bench {
namespace {

// A benchmark F with a heap that has room for 2^20 pointers. Where it cannot be had, the rows
// that need it find that a thread got nothing.
template <void (*kBenchmark)(benchmark::State&)>
void WithHeap(benchmark::State& state) {
  static const cudaError_t error = cudaDeviceSetLimit(cudaLimitMallocHeapSize, 256 << 20);
  if (error != cudaSuccess) cudaGetLastError();
  kBenchmark(state);
}

void BM_PoolAllocMalloc(benchmark::State& state) { WithHeap<BM_PoolAlloc<DeviceMalloc>>(state); }
void BM_PoolFreeMalloc(benchmark::State& state) { WithHeap<BM_PoolFree<DeviceMalloc>>(state); }
void BM_PoolChurnMalloc(benchmark::State& state) { WithHeap<BM_PoolChurn<DeviceMalloc>>(state); }

void Threads(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"threads", "per_block"})->Iterations(3)->UseManualTime();
  bench->Args({1 << 14, 128})->Args({1 << 18, 256});
}

BENCHMARK(BM_PoolAllocMalloc)->Name("BM_PoolAlloc<DeviceMalloc>")->Apply(Threads);
BENCHMARK(BM_PoolFreeMalloc)->Name("BM_PoolFree<DeviceMalloc>")->Apply(Threads);
BENCHMARK(BM_PoolChurnMalloc)
    ->Name("BM_PoolChurn<DeviceMalloc>")
    ->ArgNames({"threads", "rounds", "held_permille", "random"})
    ->Args({1 << 14, 16, 0, 0})
    ->Iterations(3)
    ->UseManualTime();

}  // namespace
}  // namespace kvpage::bench
