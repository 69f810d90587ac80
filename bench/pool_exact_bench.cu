// SPDX-License-Identifier: Apache-2.0
//
// Is the pool exact at full speed? Two rows for each way that can be asked: nobody may be told
// Full because somebody else asks for too much, and a pool that is asked for twice its blocks
// hands out each of them once. kvpage's rows fail if it does not; the ring's tell how often it
// was wrong.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "bench/exact_kernels.cuh"
#include "bench/kvpage_pool.cuh"
#include "bench/naive/ring.cuh"
#include "bench/pool_rates.cuh"

namespace kvpage::bench {
namespace {

// Half of the pool is held, and all of it is asked for at once, beside a churn for which the
// other half is enough. false_full: the part of the churn's requests that were refused.
template <BulkDevicePool P>
void BM_PoolBesideTooMuch(benchmark::State& state) {
  const uint32_t threads = static_cast<uint32_t>(state.range(0));
  const BesideTooMuch what = {.requesters = static_cast<uint32_t>(state.range(1)),
                              .too_much = kPoolBlocks,
                              .rounds = kChurnRounds};
  PoolUnderTest<P> pool({.num_blocks = kPoolBlocks}, kPoolBlocks);
  const DeviceArray<BesideTooMuchCounts> counts(1);
  GpuTimer timer;
  Samples samples;
  double refused = 0;
  double asked = 0;
  if (!pool.Fill(kPoolBlocks / 2, Held::kPacked)) state.SkipWithError("it could not be filled");
  for (auto _ : state) {
    CheckCuda(cudaMemset(counts.get(), 0, sizeof(BesideTooMuchCounts)));
    samples.Add(state, timer.Seconds([&] {
      ChurnBesideTooMuch<P><<<what.requesters + threads / kThreadsPerBlock, kThreadsPerBlock>>>(
          pool.storage(), what, pool.ids().get(), counts.get());
    }));
    const BesideTooMuchCounts now = counts.Download()[0];
    if (now.granted > 0) state.SkipWithError("blocks were granted that were not free");
    if (P::kIsExact && now.refused > 0) state.SkipWithError("false Full");
    refused += static_cast<double>(now.refused);
    asked += static_cast<double>(now.asked);
  }
  const double iterations = static_cast<double>(state.max_iterations);
  const double requests = static_cast<double>(threads) * kChurnRounds;
  const double false_full = refused / iterations / requests;
  state.counters["items_per_second"] = requests * (1 - false_full) / samples.Median();
  state.counters["false_full"] = false_full;
  state.counters["too_much"] = asked / iterations;
}

// Twice as many threads as blocks take one each. handed_out counts the blocks.
template <DevicePool P>
void BM_PoolOversubscribed(benchmark::State& state) {
  constexpr uint32_t kThreads = 2 * kPoolBlocks;
  PoolUnderTest<P> pool({.num_blocks = kPoolBlocks}, kThreads);
  GpuTimer timer;
  Samples samples;
  for (auto _ : state) {
    pool.Reset();
    samples.Add(state, timer.Seconds([&] { pool.Take(kThreads, kThreadsPerBlock); }));
    const DeviceArray<uint32_t> times(kPoolBlocks + 1);
    CountIds<<<kThreads / 256, 256>>>(pool.ids().get(), kThreads, kPoolBlocks, times.get());
    CheckCuda(cudaGetLastError());
    const std::vector<uint32_t> counted = times.Download();
    const auto twice = [](uint32_t n) { return n > 1; };
    if (std::any_of(counted.begin() + 1, counted.end(), twice)) {
      state.SkipWithError("a block was handed out twice");
    }
    if (P::kIsExact && counted[0] != kThreads - kPoolBlocks) {
      state.SkipWithError("not every block was handed out");
    }
    state.counters["handed_out"] = static_cast<double>(kThreads - counted[0]);
  }
  state.counters["items_per_second"] = kPoolBlocks / samples.Median();
  state.counters["requests_per_second"] = kThreads / samples.Median();
}

void Requesters(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"threads", "requesters"})->Iterations(10)->UseManualTime();
  for (const int threads : {1024, static_cast<int>(kChurnThreads)}) {
    for (const int requesters : {0, 1, 16}) bench->Args({threads, requesters});
  }
}

#define KVPAGE_EXACT(POOL)                                           \
  BENCHMARK_TEMPLATE(BM_PoolBesideTooMuch, POOL)->Apply(Requesters); \
  BENCHMARK_TEMPLATE(BM_PoolOversubscribed, POOL)->Iterations(10)->UseManualTime()

KVPAGE_EXACT(KvpageWarp);
KVPAGE_EXACT(KvpageCoalesced);
KVPAGE_EXACT(KvpageThread);
KVPAGE_EXACT(KvpageBlock);
KVPAGE_EXACT(DeviceRing);
#undef KVPAGE_EXACT

}  // namespace
}  // namespace kvpage::bench
