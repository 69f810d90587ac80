// SPDX-License-Identifier: Apache-2.0
//
// Where words should lie: the sequence words of rows that commit at once, and the words of the
// blocks of one prefix that many rows share. layout_pool_bench.cu, in the same program, has block
// words and gate words under the library's own operations. Not measured: what else an operation
// reads and writes.

#include <benchmark/benchmark.h>

#include <cstdint>

#include "bench/gpu_timer.h"
#include "bench/layout_compare.h"
#include "bench/layout_kernels.cuh"

namespace kvpage::bench {
namespace {

constexpr uint32_t kThreadsPerBlock = 256;
constexpr uint32_t kRounds = 64;
constexpr uint32_t kPrefixBlocks = 64;
constexpr uint32_t kPoolBlocks = 1 << 20;  // so far apart do interleaved words of blocks lie

template <CommitBy kBy>
void BM_LayoutSequenceCommit(benchmark::State& state) {
  const uint32_t bits = static_cast<uint32_t>(state.range(0));
  const bool scattered = state.range(1) != 0;
  const uint32_t rows = 1u << bits;
  const DeviceArray<uint64_t> words(
      WordLayout::Make(rows, sizeof(uint64_t), Placement::kInterleaved).size());
  GpuTimer timer;
  CompareLayouts(state, PlacementOf(state.range(2)), 1.0 * rows * kRounds, [&](Placement p) {
    const WordLayout layout = WordLayout::Make(rows, sizeof(uint64_t), p);
    return timer.Seconds([&] {
      CommitRows<kBy><<<rows / kThreadsPerBlock, kThreadsPerBlock>>>(words.get(), layout, bits,
                                                                     scattered, kRounds);
    });
  });
}

// items_per_second counts references, also where they are merged.
template <Sharing kSharing>
void BM_LayoutSharePrefix(benchmark::State& state) {
  const uint32_t rows = static_cast<uint32_t>(state.range(0));
  const DeviceArray<uint32_t> words(
      WordLayout::Make(kPoolBlocks, sizeof(uint32_t), Placement::kInterleaved).size());
  const uint32_t threads = kSharing == Sharing::kMerged ? kPrefixBlocks : rows * kPrefixBlocks;
  const uint32_t per_block = threads < kThreadsPerBlock ? threads : kThreadsPerBlock;
  GpuTimer timer;
  const double references = 1.0 * rows * kPrefixBlocks * kRounds;
  CompareLayouts(state, PlacementOf(state.range(1)), references, [&](Placement p) {
    const WordLayout layout = WordLayout::Make(kPoolBlocks, sizeof(uint32_t), p);
    return timer.Seconds([&] {
      SharePrefix<kSharing>
          <<<threads / per_block, per_block>>>(words.get(), layout, kPrefixBlocks, rows, kRounds);
    });
  });
}

void Commits(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"log2_rows", "scattered", "interleaved"})->Iterations(20)->UseManualTime();
  for (const int bits : {10, 13, 18}) {
    for (const int scattered : {0, 1}) {
      for (const int interleaved : {0, 1}) bench->Args({bits, scattered, interleaved});
    }
  }
}
void Prefixes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"rows", "interleaved"})->Iterations(20)->UseManualTime();
  for (const int rows : {64, 1024, 8192}) {
    for (const int interleaved : {0, 1}) bench->Args({rows, interleaved});
  }
}

BENCHMARK_TEMPLATE(BM_LayoutSequenceCommit, CommitBy::kStore)->Apply(Commits);
BENCHMARK_TEMPLATE(BM_LayoutSequenceCommit, CommitBy::kCompareAndSwap)->Apply(Commits);
BENCHMARK_TEMPLATE(BM_LayoutSharePrefix, Sharing::kByBlock)->Apply(Prefixes);
BENCHMARK_TEMPLATE(BM_LayoutSharePrefix, Sharing::kByRow)->Apply(Prefixes);
BENCHMARK_TEMPLATE(BM_LayoutSharePrefix, Sharing::kMerged)->Apply(Prefixes);

}  // namespace
}  // namespace kvpage::bench
