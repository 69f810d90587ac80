// SPDX-License-Identifier: Apache-2.0
//
// Batches of rows on one CPU thread: the step of a server that appends one token to each row, and
// whole lives of rows. Beside them a page table as one would write it without kvpage: vectors of
// ids, no checks, no sharing. Not measured: what writes the tokens, and sharing of prefixes.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>
#include <numeric>
#include <vector>

#include "kvpage/kv_cache.h"

namespace kvpage {
namespace {

constexpr int32_t kBlockTokens = 16;
constexpr int32_t kStepsPerLife = 256;
constexpr int32_t kPromptTokens = 1000;

struct VectorTable {
  VectorTable(uint32_t num_blocks, uint32_t num_rows)
      : free(num_blocks), rows(num_rows), lengths(num_rows) {
    std::iota(free.rbegin(), free.rend(), 1u);
  }
  int64_t* Append(int32_t row, int32_t tokens, int64_t* slots) {
    for (int32_t i = 0; i < tokens; ++i, ++lengths[row]) {
      if (lengths[row] % kBlockTokens == 0) {
        rows[row].push_back(free.back());
        free.pop_back();
      }
      *slots++ = int64_t{rows[row].back()} * kBlockTokens + lengths[row] % kBlockTokens;
    }
    return slots;
  }
  void Close(int32_t row) {
    free.insert(free.end(), rows[row].begin(), rows[row].end());
    rows[row].clear();
    lengths[row] = 0;
  }

  std::vector<BlockId> free;
  std::vector<std::vector<BlockId>> rows;
  std::vector<int32_t> lengths;
};

struct Batch {
  explicit Batch(int32_t num_rows, int32_t tokens_per_row)
      : rows(num_rows),
        tokens(num_rows, tokens_per_row),
        statuses(num_rows),
        slots(int64_t{num_rows} * tokens_per_row) {
    std::iota(rows.begin(), rows.end(), 0);
  }
  RowBatch batch() {
    return {.rows = rows.data(),
            .num_rows = static_cast<int32_t>(rows.size()),
            .statuses = statuses.data()};
  }
  AppendBatch append() {
    return {.batch = batch(),
            .tokens = tokens.data(),
            .slots = slots.data(),
            .slot_capacity = static_cast<int64_t>(slots.size())};
  }

  std::vector<int32_t> rows;
  std::vector<int32_t> tokens;
  std::vector<OpStatus> statuses;
  std::vector<int64_t> slots;
};

uint32_t BlocksFor(int64_t num_rows, int64_t tokens) {
  return static_cast<uint32_t>(num_rows * CeilDiv(tokens, kBlockTokens));
}

std::unique_ptr<KvCache> MakeCache(int64_t num_rows, int64_t tokens) {
  return *CreateCpuKvCache({.num_blocks = BlocksFor(num_rows, tokens),
                            .block_tokens = kBlockTokens,
                            .max_sequences = static_cast<uint32_t>(num_rows),
                            .max_blocks_per_sequence = BlocksFor(1, tokens)});
}

void Check(benchmark::State& state, const absl::Status& status, const Batch& batch) {
  if (!status.ok() || batch.statuses.back() != OpStatus::kOk) state.SkipWithError("append");
}

// Appends one token to every row; closing them after kStepsPerLife steps is part of the time.
void BM_RowsAppendOne(benchmark::State& state) {
  const int64_t rows = state.range(0);
  const std::unique_ptr<KvCache> cache = MakeCache(rows, kStepsPerLife);
  Batch batch(static_cast<int32_t>(rows), 1);
  int32_t step = 0;
  for (auto _ : state) {
    Check(state, cache->Append(StreamRef::Default(), batch.append()), batch);
    if (++step % kStepsPerLife != 0) continue;
    Check(state, cache->Close(StreamRef::Default(), {.batch = batch.batch()}), batch);
  }
  state.SetItemsProcessed(state.iterations() * rows);
}

void BM_VectorRowsAppendOne(benchmark::State& state) {
  const int32_t rows = static_cast<int32_t>(state.range(0));
  VectorTable table(BlocksFor(rows, kStepsPerLife), rows);
  Batch batch(rows, 1);
  int32_t step = 0;
  for (auto _ : state) {
    int64_t* slots = batch.slots.data();
    for (int32_t row = 0; row < rows; ++row) slots = table.Append(row, 1, slots);
    benchmark::DoNotOptimize(batch.slots.data());
    benchmark::ClobberMemory();
    if (++step % kStepsPerLife != 0) continue;
    for (int32_t row = 0; row < rows; ++row) table.Close(row);
  }
  state.SetItemsProcessed(state.iterations() * rows);
}

// A prompt of kPromptTokens tokens for every row, then all are closed.
void BM_RowsPromptAndClose(benchmark::State& state) {
  const int64_t rows = state.range(0);
  const std::unique_ptr<KvCache> cache = MakeCache(rows, kPromptTokens);
  Batch batch(static_cast<int32_t>(rows), kPromptTokens);
  for (auto _ : state) {
    Check(state, cache->Append(StreamRef::Default(), batch.append()), batch);
    Check(state, cache->Close(StreamRef::Default(), {.batch = batch.batch()}), batch);
  }
  state.SetItemsProcessed(state.iterations() * BlocksFor(rows, kPromptTokens));
}

void BM_VectorRowsPromptAndClose(benchmark::State& state) {
  const int32_t rows = static_cast<int32_t>(state.range(0));
  VectorTable table(BlocksFor(rows, kPromptTokens), rows);
  Batch batch(rows, kPromptTokens);
  for (auto _ : state) {
    int64_t* slots = batch.slots.data();
    for (int32_t row = 0; row < rows; ++row) slots = table.Append(row, kPromptTokens, slots);
    benchmark::DoNotOptimize(batch.slots.data());
    benchmark::ClobberMemory();
    for (int32_t row = 0; row < rows; ++row) table.Close(row);
  }
  state.SetItemsProcessed(state.iterations() * BlocksFor(rows, kPromptTokens));
}

BENCHMARK(BM_RowsAppendOne)->ArgName("rows")->Arg(1)->Arg(32)->Arg(256)->Arg(1024);
BENCHMARK(BM_VectorRowsAppendOne)->ArgName("rows")->Arg(1)->Arg(32)->Arg(256)->Arg(1024);
BENCHMARK(BM_RowsPromptAndClose)->ArgName("rows")->Arg(1)->Arg(64);
BENCHMARK(BM_VectorRowsPromptAndClose)->ArgName("rows")->Arg(1)->Arg(64);

}  // namespace
}  // namespace kvpage
