// SPDX-License-Identifier: Apache-2.0
//
// Blocks handed out and taken back by CPU threads, beside what one would write without kvpage
// (naive/). Not measured: what a caller does with a block, and cold caches; a pool of 2^16 blocks
// stays in the L2 cache.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdlib>
#include <thread>
#include <vector>

#include "absl/types/span.h"

#include "bench/naive/bump.h"
#include "bench/naive/mutex_list.h"
#include "bench/naive/ring.h"
#include "bench/naive/tagged_stack.h"
#include "kvpage/block_pool.h"

namespace kvpage::bench {
namespace {

constexpr uint32_t kBlocks = 1 << 16;

// A pool has TryAllocate and Release of spans, from any thread, and says whether it never refuses
// while enough is free.
class KvpagePool {
 public:
  static constexpr bool kIsExact = true;

  explicit KvpagePool(uint32_t num_blocks)
      : pool_(*BlockPool::Create({.num_blocks = num_blocks})) {}

  bool TryAllocate(absl::Span<BlockId> ids) { return pool_.TryAllocate(ids) == OpStatus::kOk; }
  void Release(absl::Span<const BlockId> ids) {
    if (pool_.Release(ids) != OpStatus::kOk) std::abort();
  }
  static double BytesPerBlock() {
    const size_t bytes = BlockPoolStorage::RequiredBytes({.num_blocks = kBlocks});
    return static_cast<double>(bytes) / kBlocks;
  }

 private:
  BlockPool pool_;
};

// items_per_second: blocks taken and given back again, each counted once.
template <class Pool>
void BM_PoolAllocFree(benchmark::State& state) {
  static Pool& pool = *new Pool(kBlocks);
  std::vector<BlockId> ids(state.range(0));
  for (auto _ : state) {
    if (!pool.TryAllocate(absl::MakeSpan(ids))) state.SkipWithError("full");
    benchmark::DoNotOptimize(ids.data());
    pool.Release(ids);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
  if constexpr (requires { Pool::BytesPerBlock(); }) {
    state.counters["bytes_per_block"] =
        benchmark::Counter(Pool::BytesPerBlock(), benchmark::Counter::kAvgThreads);
  }
}

// Half of the blocks are held. The first thread asks for all of them at once, again and again;
// the others take and give back, for which there is enough. false_full: the part of their
// requests that were refused. items_per_second counts the others' blocks.
template <class Pool>
void BM_PoolBesideTooMuch(benchmark::State& state) {
  static Pool& pool = *[] {
    Pool* half = new Pool(kBlocks);
    std::vector<BlockId> held(kBlocks / 2);
    if (!half->TryAllocate(absl::MakeSpan(held))) std::abort();
    return half;
  }();
  const bool asks_too_much = state.thread_index() == 0;
  std::vector<BlockId> ids(asks_too_much ? kBlocks : state.range(0));
  int64_t refused = 0;
  for (auto _ : state) {
    if (!pool.TryAllocate(absl::MakeSpan(ids))) {
      ++refused;
      continue;
    }
    if (asks_too_much) state.SkipWithError("blocks were granted that were not free");
    pool.Release(ids);
  }
  const int64_t requests = asks_too_much ? 0 : state.iterations();
  if (asks_too_much) refused = 0;
  if (Pool::kIsExact && refused > 0) state.SkipWithError("told Full although blocks were free");
  state.SetItemsProcessed((requests - refused) * state.range(0));
  const double all = static_cast<double>(state.iterations()) * (state.threads() - 1);
  state.counters["false_full"] = static_cast<double>(refused) / all;
}

// One more reference and one less, for blocks that stay: what sharing a prefix costs.
void BM_PoolShareRelease(benchmark::State& state) {
  BlockPool pool = *BlockPool::Create({.num_blocks = kBlocks});
  std::vector<BlockId> ids(state.range(0));
  if (pool.TryAllocate(absl::MakeSpan(ids)) != OpStatus::kOk) state.SkipWithError("full");
  for (auto _ : state) {
    if (pool.Share(ids) != OpStatus::kOk) state.SkipWithError("share");
    if (pool.Release(ids) != OpStatus::kOk) state.SkipWithError("release");
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

int MostThreads() {
  const int most = static_cast<int>(std::thread::hardware_concurrency());
  return most > 2 ? most : 2;
}
void Batches(benchmark::internal::Benchmark* bench) {
  bench->ArgName("batch")->Arg(1)->Arg(8)->Arg(64);
}
// Real time, because a thread that waits uses none of its CPU; so the machine must have nothing
// else to do. One thread alone is measured by CPU time.
void EveryThreadCount(benchmark::internal::Benchmark* bench) {
  Batches(bench);
  bench->ThreadRange(2, MostThreads())->UseRealTime();
}
void BesideTooMuch(benchmark::internal::Benchmark* bench) {
  bench->ArgName("batch")->Arg(1)->ThreadRange(2, MostThreads())->UseRealTime();
}

#define KVPAGE_POOL(POOL)                                     \
  BENCHMARK_TEMPLATE(BM_PoolAllocFree, POOL)->Apply(Batches); \
  BENCHMARK_TEMPLATE(BM_PoolAllocFree, POOL)->Apply(EveryThreadCount)

KVPAGE_POOL(KvpagePool);
KVPAGE_POOL(MutexListPool);
KVPAGE_POOL(TaggedStackPool);
KVPAGE_POOL(RingPool);
KVPAGE_POOL(BumpPool);
#undef KVPAGE_POOL
BENCHMARK_TEMPLATE(BM_PoolBesideTooMuch, KvpagePool)->Apply(BesideTooMuch);
BENCHMARK_TEMPLATE(BM_PoolBesideTooMuch, MutexListPool)->Apply(BesideTooMuch);
BENCHMARK_TEMPLATE(BM_PoolBesideTooMuch, RingPool)->Apply(BesideTooMuch);
BENCHMARK(BM_PoolShareRelease)->ArgName("batch")->Arg(1)->Arg(64);

}  // namespace
}  // namespace kvpage::bench
