// SPDX-License-Identifier: Apache-2.0
//
// The library's own operations with the words of blocks or of the gate contiguous and
// interleaved: warps that release 32 neighbouring blocks (a row that is closed) or blocks at
// random, and warps that take and give back.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <vector>

#include "bench/kvpage_pool.cuh"
#include "bench/layout_compare.h"
#include "bench/pool_under_test.cuh"

namespace kvpage::bench {
namespace {

constexpr uint32_t kPoolBits = 20;
constexpr uint32_t kPoolBlocks = 1 << kPoolBits;
constexpr uint32_t kThreadsPerBlock = 256;
constexpr uint32_t kChurnThreads = 270336;
constexpr uint32_t kChurnRounds = 64;

using Pool = PoolUnderTest<KvpageWarp>;

// A pool of each layout of one kind of word.
class Pools {
 public:
  explicit Pools(Placement BlockPoolOptions::*words)
      : contiguous_(Options(words, Placement::kContiguous), kPoolBlocks),
        interleaved_(Options(words, Placement::kInterleaved), kPoolBlocks) {}

  Pool& Get(Placement placement) {
    return placement == Placement::kContiguous ? contiguous_ : interleaved_;
  }

 private:
  static BlockPoolOptions Options(Placement BlockPoolOptions::*words, Placement placement) {
    BlockPoolOptions options = {.num_blocks = kPoolBlocks};
    options.*words = placement;
    return options;
  }

  Pool contiguous_;
  Pool interleaved_;
};

// All blocks are held, and thread i releases block i, or one at random.
void BM_LayoutBlockRelease(benchmark::State& state) {
  const bool random = state.range(0) != 0;
  Pools pools(&BlockPoolOptions::block_words);
  std::vector<BlockId> order(kPoolBlocks);
  for (uint32_t i = 0; i < kPoolBlocks; ++i) order[i] = (random ? Permute(i, kPoolBits) : i) + 1;
  const DeviceArray<BlockId> ids(order);
  GpuTimer timer;
  CompareLayouts(state, PlacementOf(state.range(1)), kPoolBlocks, [&](Placement placement) {
    Pool& pool = pools.Get(placement);
    if (!pool.Fill(kPoolBlocks, Held::kPacked)) state.SkipWithError("it could not be filled");
    return timer.Seconds([&] {
      Free<KvpageWarp>
          <<<kPoolBlocks / kThreadsPerBlock, kThreadsPerBlock>>>(pool.storage(), ids.get());
    });
  });
}

// Every thread takes a block and gives it back, while a part of them is held at random places.
template <Placement BlockPoolOptions::*kWords>
void ChurnLayouts(benchmark::State& state) {
  const uint32_t held = static_cast<uint32_t>(
      uint64_t{kPoolBlocks} * static_cast<uint64_t>(state.range(0)) / 1000 / 256 * 256);
  Pools pools(kWords);
  for (const Placement placement : {Placement::kContiguous, Placement::kInterleaved}) {
    if (!pools.Get(placement).Fill(held, Held::kRandom)) state.SkipWithError("not filled");
  }
  GpuTimer timer;
  const double pairs = 1.0 * kChurnThreads * kChurnRounds;
  CompareLayouts(state, PlacementOf(state.range(1)), pairs, [&](Placement placement) {
    Pool& pool = pools.Get(placement);
    const double seconds =
        timer.Seconds([&] { pool.Run(kChurnThreads, kThreadsPerBlock, kChurnRounds); });
    if (pool.TakeMissing() != 0) state.SkipWithError("told Full although blocks were free");
    return seconds;
  });
}

void BM_LayoutBlockWordsChurn(benchmark::State& state) {
  ChurnLayouts<&BlockPoolOptions::block_words>(state);
}
void BM_LayoutGateWordsChurn(benchmark::State& state) {
  ChurnLayouts<&BlockPoolOptions::gate_words>(state);
}

void Orders(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"random", "interleaved"})->Iterations(20)->UseManualTime();
  for (const int random : {0, 1}) {
    for (const int interleaved : {0, 1}) bench->Args({random, interleaved});
  }
}
void Fillings(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"held_permille", "interleaved"})->Iterations(20)->UseManualTime();
  for (const int held : {0, 500}) {
    for (const int interleaved : {0, 1}) bench->Args({held, interleaved});
  }
}

BENCHMARK(BM_LayoutBlockRelease)->Apply(Orders);
BENCHMARK(BM_LayoutBlockWordsChurn)->Apply(Fillings);
BENCHMARK(BM_LayoutGateWordsChurn)->Apply(Fillings);

}  // namespace
}  // namespace kvpage::bench
