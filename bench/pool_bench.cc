// SPDX-License-Identifier: Apache-2.0
//
// Blocks handed out and taken back by CPU threads, beside a free list under a mutex that does the
// same. Not measured: what a caller does with a block, and cold caches; a pool of 2^16 blocks stays
// in the L2 cache.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <mutex>
#include <numeric>
#include <thread>
#include <vector>

#include "absl/types/span.h"

#include "kvpage/block_pool.h"

namespace kvpage {
namespace {

constexpr uint32_t kBlocks = 1 << 16;

// What a server without kvpage would write: a list of free ids and reference counts, one lock.
class MutexPool {
 public:
  explicit MutexPool(uint32_t num_blocks) : references_(num_blocks + 1), free_(num_blocks) {
    std::iota(free_.rbegin(), free_.rend(), 1u);
  }

  bool TryAllocate(absl::Span<BlockId> ids) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (free_.size() < ids.size()) return false;
    for (BlockId& id : ids) {
      id = free_.back();
      free_.pop_back();
      references_[id] = 1;
    }
    return true;
  }
  void Release(absl::Span<const BlockId> ids) {
    std::lock_guard<std::mutex> lock(mutex_);
    for (const BlockId id : ids) {
      if (--references_[id] == 0) free_.push_back(id);
    }
  }

 private:
  std::mutex mutex_;
  std::vector<uint32_t> references_;
  std::vector<BlockId> free_;
};

// items_per_second: blocks taken and given back again, each counted once.
void Finish(benchmark::State& state, int64_t batch) {
  state.SetItemsProcessed(state.iterations() * batch);
}

void BM_PoolAllocFree(benchmark::State& state) {
  static BlockPool& pool = *new BlockPool(*BlockPool::Create({.num_blocks = kBlocks}));
  std::vector<BlockId> ids(state.range(0));
  for (auto _ : state) {
    if (pool.TryAllocate(absl::MakeSpan(ids)) != OpStatus::kOk) state.SkipWithError("full");
    if (pool.Release(ids) != OpStatus::kOk) state.SkipWithError("release");
  }
  Finish(state, state.range(0));
  state.counters["bytes_per_block"] = benchmark::Counter(
      static_cast<double>(BlockPoolStorage::RequiredBytes({.num_blocks = kBlocks})) / kBlocks,
      benchmark::Counter::kAvgThreads);
}

void BM_MutexPoolAllocFree(benchmark::State& state) {
  static MutexPool& pool = *new MutexPool(kBlocks);
  std::vector<BlockId> ids(state.range(0));
  for (auto _ : state) {
    if (!pool.TryAllocate(absl::MakeSpan(ids))) state.SkipWithError("full");
    pool.Release(ids);
  }
  Finish(state, state.range(0));
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
  Finish(state, state.range(0));
}

void Batches(benchmark::internal::Benchmark* bench) {
  bench->ArgName("batch")->Arg(1)->Arg(8)->Arg(64);
}
// Real time, because a thread that waits uses none of its CPU; so the machine must have nothing
// else to do. One thread alone is measured by CPU time above.
void EveryThreadCount(benchmark::internal::Benchmark* bench) {
  const int most = static_cast<int>(std::thread::hardware_concurrency());
  Batches(bench);
  bench->ThreadRange(2, most > 2 ? most : 2)->UseRealTime();
}

BENCHMARK(BM_PoolAllocFree)->Apply(Batches);
BENCHMARK(BM_MutexPoolAllocFree)->Apply(Batches);
BENCHMARK(BM_PoolAllocFree)->Apply(EveryThreadCount);
BENCHMARK(BM_MutexPoolAllocFree)->Apply(EveryThreadCount);
BENCHMARK(BM_PoolShareRelease)->ArgName("batch")->Arg(1)->Arg(64);

}  // namespace
}  // namespace kvpage
