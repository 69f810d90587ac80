// SPDX-License-Identifier: Apache-2.0
//
// The pool in kernels: blocks per second that are handed out, taken back, and both in turn, by
// single threads, coalesced groups, warps and thread blocks, beside the limits of the hardware
// (pool_limits.cuh). Times are those of whole kernels, launch included. Not measured: what a kernel
// does with its blocks, and other kernels beside it.

#include <benchmark/benchmark.h>

#include <cstdint>

#include "bench/gpu_timer.h"
#include "bench/pool_limits.cuh"
#include "kvpage/cuda/kvpage.cuh"

namespace kvpage::bench {
namespace {

constexpr uint32_t kPoolBlocks = 1 << 20;
constexpr uint32_t kChurnThreads = 270336;  // as many as an H200 can hold
constexpr uint32_t kChurnRounds = 64;

enum class By { kThread, kCoalesced, kWarp, kBlock };

// Every lane takes one block; a null block where there is none.
template <By kBy>
__device__ BlockId TakeOne(const CudaBlockPoolRef& pool, BlockId* ids) {
  const uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
  if constexpr (kBy == By::kThread) {
    ThreadGroup me = ThisThread();
    return pool.TryAllocateOne(me);
  } else if constexpr (kBy == By::kCoalesced) {
    BlockId id = kNullBlock;
    if (threadIdx.x % 2 == 0) {
      CoalescedGroup even;
      id = pool.TryAllocateOne(even);
    } else {
      CoalescedGroup odd;
      id = pool.TryAllocateOne(odd);
    }
    return id;
  } else if constexpr (kBy == By::kWarp) {
    WarpGroup warp;
    return pool.TryAllocateOne(warp);
  } else {
    __shared__ ThreadBlockScratch scratch;
    ThreadBlockGroup block(scratch);
    BlockId* const mine = ids + blockIdx.x * blockDim.x;
    if (pool.TryAllocate(block, blockDim.x, mine) != OpStatus::kOk) return kNullBlock;
    return ids[thread];
  }
}

template <By kBy>
__global__ void __launch_bounds__(1024)
    Allocate(const __grid_constant__ BlockPoolStorage storage, BlockId* ids, uint64_t* missing) {
  const CudaBlockPoolRef pool(storage);
  const uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
  const BlockId id = TakeOne<kBy>(pool, ids);
  ids[thread] = id;
  if (id == kNullBlock) CudaAtomics::AddRelaxed(missing, uint64_t{1});
}

template <By kBy>
__global__ void __launch_bounds__(1024)
    Free(const __grid_constant__ BlockPoolStorage storage, const BlockId* ids) {
  const CudaBlockPoolRef pool(storage);
  const BlockId id = ids[blockIdx.x * blockDim.x + threadIdx.x];
  if constexpr (kBy == By::kThread) {
    ThreadGroup me = ThisThread();
    pool.Release(me, id);
  } else {
    WarpGroup warp;
    pool.Release(warp, id);
  }
}

template <By kBy>
__global__ void __launch_bounds__(1024)
    Churn(const __grid_constant__ BlockPoolStorage storage, uint32_t rounds, uint64_t* missing) {
  const CudaBlockPoolRef pool(storage);
  uint32_t failed = 0;
  for (uint32_t round = 0; round < rounds; ++round) {
    const BlockId id = TakeOne<kBy>(pool, nullptr);
    failed += id == kNullBlock;
    if constexpr (kBy == By::kThread) {
      ThreadGroup me = ThisThread();
      pool.Release(me, id);
    } else {
      WarpGroup warp;
      pool.Release(warp, id);
    }
  }
  if (failed > 0) CudaAtomics::AddRelaxed(missing, uint64_t{failed});
}

__global__ void InitPool(const __grid_constant__ BlockPoolStorage storage) {
  CudaBlockPoolRef(storage).Init(uint64_t{blockIdx.x} * blockDim.x + threadIdx.x,
                                 uint64_t{gridDim.x} * blockDim.x);
}

class Pool {
 public:
  explicit Pool(Placement block_words)
      : options_({.num_blocks = kPoolBlocks, .block_words = block_words}),
        memory_(BlockPoolStorage::RequiredBytes(options_)),
        ids_(kPoolBlocks),
        missing_(1) {
    Carver carver(memory_.get());
    storage_ = BlockPoolStorage::Carve(carver, options_);
    Reset(0);
  }

  // All blocks free but `held`, which stay with nobody.
  void Reset(uint32_t held) {
    CheckCuda(cudaMemset(missing_.get(), 0, sizeof(uint64_t)));
    InitPool<<<1024, 256>>>(storage_);
    if (held > 0) Take<By::kWarp>(held, kThreadsPerBlock);
  }
  template <By kBy>
  void Take(uint32_t threads, uint32_t per_block) {
    Allocate<kBy><<<threads / per_block, per_block>>>(storage_, ids_.get(), missing_.get());
  }
  template <By kBy>
  void GiveBack(uint32_t threads, uint32_t per_block) {
    Free<kBy><<<threads / per_block, per_block>>>(storage_, ids_.get());
  }
  template <By kBy>
  void Run(uint32_t threads, uint32_t per_block, uint32_t rounds) {
    Churn<kBy><<<threads / per_block, per_block>>>(storage_, rounds, missing_.get());
  }
  // Lanes that got no block since Reset.
  uint64_t Missing() const { return missing_.Download()[0]; }

 private:
  BlockPoolOptions options_;
  DeviceArray<char> memory_;
  DeviceArray<BlockId> ids_;
  DeviceArray<uint64_t> missing_;
  BlockPoolStorage storage_;
};

// The rate of the bump counter and of warp leaders' atomics on spread counters in this process.
struct Limits {
  double bump;
  double spread;

  static const Limits& Get() {
    static const Limits limits = [] {
      GpuTimer timer;
      LimitSeconds<Limit::kBumpCounter>(timer, kPoolBlocks, 1);  // warm up
      LimitSeconds<Limit::kSpreadCounters>(timer, kChurnThreads, kChurnRounds);
      return Limits{kPoolBlocks / LimitSeconds<Limit::kBumpCounter>(timer, kPoolBlocks, 1),
                    kChurnThreads / 32.0 * kChurnRounds /
                        LimitSeconds<Limit::kSpreadCounters>(timer, kChurnThreads, kChurnRounds)};
    }();
    return limits;
  }
};

// `blocks` in each iteration. of_bump: the rate as a part of a bump counter's; per_spread_atomic:
// blocks in the time of one warp leader's atomic on a spread counter.
void Report(benchmark::State& state, double seconds, uint64_t blocks) {
  const double all = static_cast<double>(blocks) * static_cast<double>(state.iterations());
  state.SetItemsProcessed(static_cast<int64_t>(all));
  state.counters["of_bump"] = all / seconds / Limits::Get().bump;
  state.counters["per_spread_atomic"] = all / seconds / Limits::Get().spread;
}

template <Limit kLimit>
void BM_LimitAtomics(benchmark::State& state) {
  const uint32_t threads = static_cast<uint32_t>(state.range(0));
  const uint32_t rounds = static_cast<uint32_t>(state.range(1));
  const bool by_lane = kLimit == Limit::kBumpCounter || kLimit == Limit::kRandomWords;
  GpuTimer timer;
  LimitSeconds<kLimit>(timer, threads, rounds);
  for (auto _ : state) state.SetIterationTime(LimitSeconds<kLimit>(timer, threads, rounds));
  state.SetItemsProcessed(state.iterations() * threads / (by_lane ? 1 : 32) * rounds);
}

// `threads` threads take one block each from a pool where all are free.
template <By kBy>
void BM_PoolAlloc(benchmark::State& state) {
  const uint32_t threads = static_cast<uint32_t>(state.range(0));
  const uint32_t per_block = static_cast<uint32_t>(state.range(1));
  Pool pool(Placement::kContiguous);
  GpuTimer timer;
  double seconds = 0;
  pool.Take<kBy>(threads, per_block);  // warm up
  for (auto _ : state) {
    pool.Reset(0);
    const double now = timer.Seconds([&] { pool.Take<kBy>(threads, per_block); });
    if (pool.Missing() != 0) state.SkipWithError("a lane got no block");
    state.SetIterationTime(now);
    seconds += now;
  }
  Report(state, seconds, threads);
}

// The same threads give them back.
template <By kBy>
void BM_PoolFree(benchmark::State& state) {
  const uint32_t threads = static_cast<uint32_t>(state.range(0));
  const uint32_t per_block = static_cast<uint32_t>(state.range(1));
  Pool pool(Placement::kContiguous);
  GpuTimer timer;
  double seconds = 0;
  pool.Reset(threads);
  pool.GiveBack<kBy>(threads, per_block);  // warm up
  for (auto _ : state) {
    pool.Reset(threads);
    const double now = timer.Seconds([&] { pool.GiveBack<kBy>(threads, per_block); });
    state.SetIterationTime(now);
    seconds += now;
  }
  Report(state, seconds, threads);
}

// Threads take and give back in turn, in a pool of which some blocks are held by nobody. `missing`:
// the part of the requests that were told Full.
template <By kBy>
void BM_PoolChurn(benchmark::State& state) {
  const uint32_t threads =
      static_cast<uint32_t>(state.range(0)) / kThreadsPerBlock * kThreadsPerBlock;
  const uint32_t held =
      static_cast<uint32_t>(uint64_t{kPoolBlocks} * static_cast<uint64_t>(state.range(1)) / 1000 /
                            kThreadsPerBlock * kThreadsPerBlock);
  const auto words = state.range(2) != 0 ? Placement::kInterleaved : Placement::kContiguous;
  Pool pool(words);
  GpuTimer timer;
  double seconds = 0;
  uint64_t missing = 0;
  pool.Run<kBy>(threads, kThreadsPerBlock, 1);  // warm up
  for (auto _ : state) {
    pool.Reset(held);
    const double now =
        timer.Seconds([&] { pool.Run<kBy>(threads, kThreadsPerBlock, kChurnRounds); });
    missing += pool.Missing();
    state.SetIterationTime(now);
    seconds += now;
  }
  const uint64_t asked = uint64_t{threads} * kChurnRounds;
  Report(state, seconds, asked);
  state.counters["missing"] =
      static_cast<double>(missing) / static_cast<double>(asked * state.iterations());
}

void Threads(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"threads", "per_block"})->UseManualTime();
  bench->Args({kPoolBlocks / 2, 256})->Args({kPoolBlocks / 2, 1024})->Args({kPoolBlocks, 256});
  bench->Args({1 << 14, 128});
}
void Churns(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"threads", "held_permille", "interleaved"})->UseManualTime();
  for (const int held : {0, 500, 740}) bench->Args({kChurnThreads, held, 0});
  bench->Args({kChurnThreads, 0, 1})->Args({kChurnThreads, 500, 1});
  // Nearly full: fewer threads than blocks are left, so that nobody is told Full.
  bench->Args({1024, 0, 0})->Args({1024, 999, 0});
}
// Nearly full for all threads: most requests are told Full.
void CrowdedChurn(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"threads", "held_permille", "interleaved"})->UseManualTime();
  bench->Args({kChurnThreads, 999, 0});
}

BENCHMARK_TEMPLATE(BM_LimitAtomics, Limit::kBumpCounter)
    ->ArgNames({"threads", "rounds"})
    ->Args({kPoolBlocks, 1})
    ->Args({kChurnThreads, kChurnRounds})
    ->UseManualTime();
BENCHMARK_TEMPLATE(BM_LimitAtomics, Limit::kOneCounter)
    ->ArgNames({"threads", "rounds"})
    ->Args({kChurnThreads, kChurnRounds})
    ->UseManualTime();
BENCHMARK_TEMPLATE(BM_LimitAtomics, Limit::kSpreadCounters)
    ->ArgNames({"threads", "rounds"})
    ->Args({kChurnThreads, kChurnRounds})
    ->UseManualTime();
BENCHMARK_TEMPLATE(BM_LimitAtomics, Limit::kRandomWords)
    ->ArgNames({"threads", "rounds"})
    ->Args({kChurnThreads, kChurnRounds})
    ->UseManualTime();

BENCHMARK_TEMPLATE(BM_PoolAlloc, By::kWarp)->Apply(Threads);
BENCHMARK_TEMPLATE(BM_PoolAlloc, By::kCoalesced)->Apply(Threads);
BENCHMARK_TEMPLATE(BM_PoolAlloc, By::kThread)->Apply(Threads);
BENCHMARK_TEMPLATE(BM_PoolAlloc, By::kBlock)->Apply(Threads);
BENCHMARK_TEMPLATE(BM_PoolFree, By::kWarp)->Apply(Threads);
BENCHMARK_TEMPLATE(BM_PoolFree, By::kThread)->Apply(Threads);
BENCHMARK_TEMPLATE(BM_PoolChurn, By::kWarp)->Apply(Churns);
BENCHMARK_TEMPLATE(BM_PoolChurn, By::kWarp)->Apply(CrowdedChurn);
BENCHMARK_TEMPLATE(BM_PoolChurn, By::kCoalesced)->Apply(Churns);
BENCHMARK_TEMPLATE(BM_PoolChurn, By::kThread)->Apply(Churns);

}  // namespace
}  // namespace kvpage::bench
