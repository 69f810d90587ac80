// SPDX-License-Identifier: Apache-2.0
//
// The limits of the hardware, as rows of the pool's own run: atomics (pool_limits.cuh), a copy in
// device memory, and a kernel that does nothing, whose time is part of every other row's.

#include <benchmark/benchmark.h>

#include <cstdint>

#include "bench/gpu_timer.h"
#include "bench/pool_limits.cuh"
#include "bench/samples.h"

namespace kvpage::bench {
namespace {

// As many threads as an H200 can hold, which is what the pool's churn uses too.
constexpr uint32_t kThreads = 270336;
constexpr int kIterations = 20;

template <Pattern kPattern, Returns kReturns>
void BM_LimitAtomics(benchmark::State& state) {
  const uint32_t threads = static_cast<uint32_t>(state.range(0));
  const uint32_t rounds = static_cast<uint32_t>(state.range(1));
  GpuTimer timer;
  Samples samples;
  LimitSeconds<kPattern, kReturns>(timer, threads, rounds);  // warm up
  for (auto _ : state) {
    samples.Add(state, LimitSeconds<kPattern, kReturns>(timer, threads, rounds));
  }
  state.counters["items_per_second"] =
      static_cast<double>(LimitAtomics(kPattern, threads, rounds)) / samples.Median();
}

void BM_LimitCopy(benchmark::State& state) {
  const uint64_t bytes = static_cast<uint64_t>(state.range(0)) << 20;
  const DeviceArray<char> from(bytes);
  const DeviceArray<char> to(bytes);
  GpuTimer timer;
  Samples samples;
  const auto copy = [&] {
    return timer.Seconds([&] {
      const cudaMemcpyKind kind = cudaMemcpyDeviceToDevice;
      CheckCuda(cudaMemcpyAsync(to.get(), from.get(), bytes, kind));
    });
  };
  copy();  // warm up
  for (auto _ : state) samples.Add(state, copy());
  // Each byte is read and written, and counted once.
  state.counters["bytes_per_second"] =
      benchmark::Counter(static_cast<double>(bytes) / samples.Median(),
                         benchmark::Counter::kDefaults, benchmark::Counter::kIs1024);
}

__global__ void Empty() {}

void BM_LimitEmptyKernel(benchmark::State& state) {
  const uint32_t threads = static_cast<uint32_t>(state.range(0));
  GpuTimer timer;
  Samples samples;
  const auto run = [&] {
    return timer.Seconds([&] { Empty<<<threads / kThreadsPerBlock, kThreadsPerBlock>>>(); });
  };
  run();  // warm up
  for (auto _ : state) samples.Add(state, run());
  state.counters["median_us"] = samples.Median() * 1e6;
}

void Atomics(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"threads", "rounds"})->Args({kThreads, 64});
  bench->Iterations(kIterations)->UseManualTime();
}
// One launch of 2^20 threads, one atomic each: the shape of the pool's alloc.
void OneRound(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"threads", "rounds"})->Args({1 << 20, 1});
  bench->Iterations(kIterations)->UseManualTime();
}

#define KVPAGE_LIMIT(PATTERN)                                                            \
  BENCHMARK_TEMPLATE(BM_LimitAtomics, Pattern::PATTERN, Returns::kAtom)->Apply(Atomics); \
  BENCHMARK_TEMPLATE(BM_LimitAtomics, Pattern::PATTERN, Returns::kRed)->Apply(Atomics)

KVPAGE_LIMIT(kOneWordByWarp);
KVPAGE_LIMIT(kOneWordByLane);
KVPAGE_LIMIT(kSpreadByWarp);
KVPAGE_LIMIT(kFencedSpreadByWarp);
KVPAGE_LIMIT(kCoalesced);
KVPAGE_LIMIT(kRandom);
#undef KVPAGE_LIMIT
BENCHMARK_TEMPLATE(BM_LimitAtomics, Pattern::kOneWordByLane, Returns::kAtom)->Apply(OneRound);
BENCHMARK_TEMPLATE(BM_LimitAtomics, Pattern::kRandom, Returns::kAtom)->Apply(OneRound);
BENCHMARK(BM_LimitCopy)->ArgName("mib")->Arg(1024)->Iterations(kIterations)->UseManualTime();
BENCHMARK(BM_LimitEmptyKernel)
    ->ArgName("threads")
    ->Arg(256)
    ->Arg(kThreads)
    ->Arg(1 << 20)
    ->Iterations(kIterations)
    ->UseManualTime();

}  // namespace
}  // namespace kvpage::bench
