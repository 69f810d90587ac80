// SPDX-License-Identifier: Apache-2.0
//
// bench/churn_case.cuh
//
// One row of the churn benchmarks: threads that take a block and give it back, beside blocks that
// nobody gives back.

#ifndef KVPAGE_BENCH_CHURN_CASE_CUH_
#define KVPAGE_BENCH_CHURN_CASE_CUH_

#include <benchmark/benchmark.h>

#include <cstdint>
#include <map>
#include <tuple>

#include "bench/pool_rates.cuh"

namespace kvpage::bench {

struct ChurnCase {
  uint32_t bits;  // the pool has 2^bits blocks
  uint32_t threads;
  uint32_t rounds;
  uint32_t held;  // see PoolUnderTest::Fill
  Held how;

  uint32_t num_blocks() const { return 1u << bits; }
  uint64_t requests() const { return uint64_t{threads} * rounds; }
  // Every thread has at most one block, so with so many free nobody may be told Full.
  bool has_enough() const { return num_blocks() - held >= threads; }
};

// `permille` of the blocks, in whole thread blocks of the filling kernel.
inline uint32_t HeldBlocks(uint32_t num_blocks, int64_t permille) {
  return static_cast<uint32_t>(uint64_t{num_blocks} * static_cast<uint64_t>(permille) / 1000 /
                               kThreadsPerBlock * kThreadsPerBlock);
}

// Requests per second of the same churn in the same pool when nothing is held. Leaves it empty.
template <DevicePool P>
double EmptyChurnRate(PoolUnderTest<P>& pool, const ChurnCase& c) {
  static std::map<std::tuple<uint32_t, uint32_t, uint32_t>, double>& rates =
      *new std::map<std::tuple<uint32_t, uint32_t, uint32_t>, double>();
  double& rate = rates[{c.bits, c.threads, c.rounds}];
  if (rate != 0) return rate;
  GpuTimer timer;
  pool.Reset();
  const double seconds = MedianOf(1, 5, [&] {
    return timer.Seconds([&] { pool.Run(c.threads, kThreadsPerBlock, c.rounds); });
  });
  rate = static_cast<double>(c.requests()) / seconds;
  return rate;
}

// How many threads of Churn<P> the GPU holds at a time; the others wait for their turn.
template <DevicePool P>
double ResidentThreads() {
  constexpr int kThreads = kThreadsPerBlock;
  int blocks = 0;
  int device = 0;
  int multiprocessors = 0;
  CheckCuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, Churn<P>, kThreads, 0));
  CheckCuda(cudaGetDevice(&device));
  CheckCuda(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  return 1.0 * kThreads * blocks * multiprocessors;
}

inline bool FitsInMemory(uint64_t bytes) {
  size_t free = 0;
  size_t total = 0;
  CheckCuda(cudaMemGetInfo(&free, &total));
  return bytes + (uint64_t{1} << 30) <= free;
}

// items_per_second counts the requests that got a block. missing: the part that did not;
// false_full: the same where every one of them was wrong, because blocks were left. of_empty: the
// rate as a part of the same pool's when nothing is held.
template <DevicePool P>
void RunChurn(benchmark::State& state, const ChurnCase& c) {
  const BlockPoolOptions options = {.num_blocks = c.num_blocks()};
  if (!FitsInMemory(PoolUnderTest<P>::RequiredBytes(options))) {
    state.SkipWithError("not enough memory");
    return;
  }
  const double bump = BumpRate(c.threads, kThreadsPerBlock, c.rounds);
  PoolUnderTest<P> pool(options, c.threads);
  const double empty = EmptyChurnRate(pool, c);
  // What is taken is given back, so the pool stays as it was filled.
  if (!pool.Fill(c.held, c.how)) state.SkipWithError("the pool could not be filled");
  GpuTimer timer;
  Samples samples;
  uint64_t missing = 0;
  pool.Run(c.threads, kThreadsPerBlock, 1);  // warm up
  pool.TakeMissing();
  for (auto _ : state) {
    samples.Add(state, timer.Seconds([&] { pool.Run(c.threads, kThreadsPerBlock, c.rounds); }));
    missing += pool.TakeMissing();
  }
  if (P::kIsExact && c.has_enough() && missing > 0) {
    state.SkipWithError("told Full although blocks were free");
  }
  const double share =
      static_cast<double>(missing) / static_cast<double>(c.requests() * state.max_iterations);
  const double requests = static_cast<double>(c.requests()) / samples.Median();
  ReportBlocks(state, requests * (1 - share), bump);
  state.counters["requests_per_second"] = requests;
  state.counters["of_empty"] = requests * (1 - share) / empty;
  state.counters[c.has_enough() ? "false_full" : "missing"] = share;
  state.counters["resident"] = ResidentThreads<P>();
}

}  // namespace kvpage::bench

#endif  // KVPAGE_BENCH_CHURN_CASE_CUH_
