// SPDX-License-Identifier: Apache-2.0
//
// Speculative drafts as nodes of a CUDA graph. A graph holds kNodes nodes of a kind, each for rows
// of its own; its replay time divided by their number is the time of one, and the same graph of
// empty kernels tells how much of that any node costs. decode_cuda_bench.cc, in the same program,
// compares whole steps with the ways of servers.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "bench/gpu_graph.h"
#include "bench/samples.h"
#include "bench/step_kernels.h"
#include "kvpage/cuda/cuda_kv_cache.h"

namespace kvpage::bench {
namespace {

constexpr int32_t kNodes = 16;
constexpr int32_t kBlockTokens = 16;

// BeginDraft of `tokens` tokens for `rows` rows, and CommitDraft of 0 to all of them, under a
// fence. The rows' lengths are staggered, so that with 4 tokens 3 rows in 16 cross the edge of a
// block. begin_us and commit_us are the times of one node over an empty one.
void BM_Draft(benchmark::State& state) {
  const int32_t rows = static_cast<int32_t>(state.range(0));
  const int32_t tokens = static_cast<int32_t>(state.range(1));
  const bool interleaved = state.range(2) != 0;
  const int32_t all = rows * kNodes;
  Stream stream;
  auto created = CreateCudaKvCache(
      stream.ref(),
      {.num_blocks = 1 << 20,
       .block_tokens = kBlockTokens,
       .max_sequences = static_cast<uint32_t>(all),
       .max_blocks_per_sequence = 8,
       .sequence_words = interleaved ? Placement::kInterleaved : Placement::kContiguous,
       .max_draft_tokens = static_cast<uint32_t>(tokens)});
  Check(created.status());
  const std::unique_ptr<KvCache> cache = *std::move(created);

  std::vector<int32_t> stagger(all);
  std::vector<int32_t> accept(all);
  for (int32_t i = 0; i < all; ++i) {
    stagger[i] = i % kBlockTokens + 1;
    accept[i] = i / kBlockTokens % (tokens + 1);
  }
  const DeviceArray<int32_t> row_numbers(Numbers(all));
  const DeviceArray<int32_t> start(stagger);
  const DeviceArray<int32_t> drafted(std::vector<int32_t>(all, tokens));
  const DeviceArray<int32_t> accepted(accept);
  const DeviceArray<OpStatus> statuses(std::vector<OpStatus>(2 * all, OpStatus::kInvalid));
  const DeviceArray<int64_t> slots(std::vector<int64_t>(static_cast<size_t>(all) * tokens, -1));
  const DeviceArray<uint64_t> epoch(std::vector<uint64_t>(1, 1));
  const auto part = [&](int32_t node, int32_t kind) {
    return RowBatch{.rows = row_numbers.get() + node * rows,
                    .num_rows = rows,
                    .statuses = statuses.get() + kind * all + node * rows};
  };
  const RowBatch everything{.rows = row_numbers.get(), .num_rows = all, .statuses = statuses.get()};
  Check(cache->Append(stream.ref(), {.batch = everything, .tokens = start.get()}));
  Check(cache->Synchronize(stream.ref()));

  Graph begin(stream, [&] {
    for (int32_t i = 0; i < kNodes; ++i) {
      Check(cache->BeginDraft(stream.ref(),
                              {.batch = part(i, 0),
                               .tokens = drafted.get() + i * rows,
                               .slots = slots.get() + static_cast<int64_t>(i) * rows * tokens,
                               .slot_capacity = static_cast<int64_t>(rows) * tokens}));
    }
  });
  Graph commit(stream, [&] {
    for (int32_t i = 0; i < kNodes; ++i) {
      Check(cache->CommitDraft(stream.ref(), {.batch = part(i, 1),
                                              .tokens = accepted.get() + i * rows,
                                              .fence = {.epoch_word = epoch.get()}}));
    }
  });
  const uint32_t threads = rows < 64 ? 64 : (rows > 1024 ? 1024 : (rows + 31) / 32 * 32);
  Graph empty(stream, [&] {
    for (int32_t i = 0; i < kNodes; ++i) CheckCuda(LaunchEmpty(stream.get(), threads));
  });
  const auto back_to_start = [&] {
    Check(cache->Truncate(stream.ref(), {.batch = everything, .tokens = start.get()}));
    Check(cache->SignalNext(stream.ref(), epoch.get()));
    Check(cache->Poll(stream.ref()));
  };
  Samples begins, commits, empties;
  const auto round = [&](bool counts) {
    const double begin_seconds = begin.Replay();
    const double commit_seconds = commit.Replay();
    const double empty_seconds = empty.Replay();
    for (const OpStatus status : statuses.Download()) {
      if (status != OpStatus::kOk) state.SkipWithError("a row was not drafted or committed");
    }
    back_to_start();
    if (!counts) return;
    begins.Add(begin_seconds);
    commits.Add(commit_seconds);
    empties.Add(empty_seconds);
    state.SetIterationTime(begin_seconds + commit_seconds);
  };
  round(false);  // warm up
  for (auto _ : state) round(true);
  const double us = 1e6 / kNodes;
  state.counters["empty_us"] = empties.Median() * us;
  state.counters["begin_us"] = (begins.Median() - empties.Median()) * us;
  state.counters["commit_us"] = (commits.Median() - empties.Median()) * us;
  state.counters["both_us"] = (begins.Median() + commits.Median() - 2 * empties.Median()) * us;
  state.counters["items_per_second"] = all / (begins.Median() + commits.Median());
}

BENCHMARK(BM_Draft)
    ->ArgNames({"rows", "tokens", "interleaved"})
    ->ArgsProduct({{1, 32, 256, 1024, 4096}, {4}, {0, 1}})
    ->Args({256, 8, 0})
    ->Iterations(50)
    ->UseManualTime();

}  // namespace
}  // namespace kvpage::bench
