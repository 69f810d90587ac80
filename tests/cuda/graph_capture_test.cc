// SPDX-License-Identifier: Apache-2.0
//
// Operations captured in a CUDA graph once and replayed many times: rows, tokens and counts are
// read when the graph runs, and nothing in it waits for the host.

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/cuda/captured_graph.h"
#include "tests/support/cuda_backend.h"
#include "tests/support/random.h"
#include "tests/support/test_seed.h"

namespace kvpage::test {
namespace {

using enum OpStatus;

constexpr int32_t kRows = 16;
constexpr KvCacheOptions kOptions = {.num_blocks = 300,
                                     .block_tokens = 4,
                                     .max_sequences = kRows,
                                     .max_blocks_per_sequence = 12,
                                     .blocks_per_shard = 64};

// One step of a server, in pinned memory: some rows grow and some are closed.
struct Step {
  explicit Step(GuardedArena& arena)
      : rows(arena.Take(Rows(kRows))),
        tokens(arena.Take(Tokens(kRows))),
        count(arena.Take(std::vector<int32_t>(1))),
        statuses(arena.Take(Statuses(kRows))),
        slots(arena.Take(Slots(64))),
        copies(arena.Take(Copies(kRows))),
        closed_rows(arena.Take(Rows(kRows))),
        closed_count(arena.Take(std::vector<int32_t>(1))),
        closed_statuses(arena.Take(Statuses(kRows))) {}

  RowBatch Growing() const {
    return {.rows = rows, .num_rows = kRows, .statuses = statuses, .count = count};
  }
  RowBatch Closing() const {
    return {
        .rows = closed_rows, .num_rows = kRows, .statuses = closed_statuses, .count = closed_count};
  }
  AppendBatch Append() const {
    return {.batch = Growing(),
            .tokens = tokens,
            .slots = slots,
            .slot_capacity = 64,
            .copies = copies};
  }

  int32_t* rows;
  int32_t* tokens;
  int32_t* count;
  OpStatus* statuses;
  int64_t* slots;
  BlockCopy* copies;
  int32_t* closed_rows;
  int32_t* closed_count;
  OpStatus* closed_statuses;
};

TEST(GraphCapture, ReplaysReadRowsTokensAndCountsAnew) {
  CacheDriver gpu = Drive<CudaBackend>(kOptions);
  CacheDriver cpu = Drive<CpuBackend>(kOptions);
  GuardedArena arena(*gpu.access().shared, 1 << 16);
  const Step step(arena);
  ASSERT_TRUE(gpu.cache().Synchronize(gpu.stream()).ok());
  CapturedGraph graph([&](StreamRef stream) {
    EXPECT_TRUE(gpu.cache().Append(stream, step.Append()).ok());
    EXPECT_TRUE(gpu.cache().Close(stream, {step.Closing()}).ok());
  });
  Random random(BaseSeed());
  for (int replay = 0; replay < 200; ++replay) {
    Rows rows(kRows), closed(kRows);
    Tokens tokens(kRows);
    for (int32_t i = 0; i < kRows; ++i) {
      rows[i] = (i * 5 + replay) % kRows;
      closed[i] = (i * 3 + replay * 7) % kRows;
      tokens[i] = static_cast<int32_t>(random.Below(7));
    }
    const auto count = static_cast<int32_t>(random.Below(kRows + 1));
    const auto closed_count = static_cast<int32_t>(random.Below(4));
    std::copy(rows.begin(), rows.end(), step.rows);
    std::copy(tokens.begin(), tokens.end(), step.tokens);
    std::copy(closed.begin(), closed.end(), step.closed_rows);
    *step.count = count;
    *step.closed_count = closed_count;
    std::fill_n(step.statuses, kRows, kUnwritten);
    std::fill_n(step.closed_statuses, kRows, kUnwritten);
    graph.Replay();
    ASSERT_TRUE(gpu.cache().Synchronize(gpu.stream()).ok());
    const RowResults expected = cpu.Append(rows, tokens, {.count = count, .slot_capacity = 64});
    const Statuses expected_closed = cpu.Close(closed, {.count = closed_count});
    ASSERT_EQ(Statuses(step.statuses, step.statuses + kRows), expected.statuses) << replay;
    ASSERT_EQ(Slots(step.slots, step.slots + 64), expected.slots) << replay;
    ASSERT_EQ(Copies(step.copies, step.copies + kRows), expected.copies) << replay;
    ASSERT_EQ(Statuses(step.closed_statuses, step.closed_statuses + kRows), expected_closed);
    ASSERT_EQ(gpu.Hash(), cpu.Hash()) << replay;
  }
  EXPECT_TRUE(gpu.Audit().ok());
  EXPECT_TRUE(arena.Reset());
}

// Every operation in one graph; the state is the same after each replay, so they need no host.
TEST(GraphCapture, ManyReplaysWithoutTheHostInBetween) {
  CacheDriver d = Drive<CudaBackend>(kOptions);
  d.Append({0, 1, 2, 3}, {21, 21, 21, 21});
  const CacheSnapshot before = d.Snapshot();
  GuardedArena arena(*d.access().shared, 1 << 16);
  const auto statuses = [&](int32_t n) { return arena.Take(Statuses(static_cast<size_t>(n))); };
  const RowBatch parents = {arena.Take(Rows{0, 1, 2, 3}), 4, statuses(4)};
  const RowBatch children = {arena.Take(Rows{8, 9, 10, 11}), 4, statuses(4)};
  const RowBatch appended = {children.rows, 4, statuses(4)};
  const RowBatch truncated = {children.rows, 4, statuses(4)};
  const RowBatch closed = {children.rows, 4, statuses(4)};
  const BlockListBatch shared = {arena.Take(Ids{1, 2, 7, 7}), 4, statuses(4)};
  const BlockListBatch released = {arena.Take(Ids{7, 1, 7, 2}), 4, statuses(4)};
  const int32_t* lengths = arena.Take(Tokens(4, 21));
  const Tokens appended_tokens = {9, 0, 3, 27};
  const int32_t* more = arena.Take(appended_tokens);
  BlockCopy* copies = arena.Take(Copies(4));
  BlockCopy* fork_copies = arena.Take(Copies(4));
  int64_t* slots = arena.Take(Slots(40));
  const size_t tensor_bytes = 301 * 4 * 16;
  OwnedMemory tensor_memory = *OwnedMemory::Allocate(*d.access().shared, tensor_bytes, 64);
  const KvTensor tensor = {
      .data = tensor_memory.get(), .block_stride = 64, .token_stride = 16, .head_bytes = 16};
  KvCache& cache = d.cache();
  ASSERT_TRUE(cache.Synchronize(d.stream()).ok());
  CapturedGraph graph([&](StreamRef s) {
    EXPECT_TRUE(cache.Reserve(s, {parents, lengths}).ok());
    EXPECT_TRUE(cache.Fork(s, {children, parents.rows, lengths, fork_copies}).ok());
    EXPECT_TRUE(cache.CopyBlocks(s, fork_copies, 4, {&tensor, 1}).ok());
    EXPECT_TRUE(cache.Share(s, shared).ok());
    EXPECT_TRUE(cache.Append(s, {appended, more, slots, 40, copies}).ok());
    EXPECT_TRUE(cache.CopyBlocks(s, copies, 4, {&tensor, 1}).ok());
    EXPECT_TRUE(cache.Truncate(s, {truncated, lengths}).ok());
    EXPECT_TRUE(cache.Release(s, released).ok());
    EXPECT_TRUE(cache.Close(s, {closed}).ok());
  });
  constexpr uint32_t kReplays = 1000;
  for (uint32_t i = 0; i < kReplays; ++i) graph.Replay();
  ASSERT_TRUE(cache.Synchronize(d.stream()).ok());
  for (const OpStatus* array :
       {parents.statuses, children.statuses, appended.statuses, truncated.statuses, closed.statuses,
        shared.statuses, released.statuses}) {
    EXPECT_EQ(Statuses(array, array + 4), Statuses(4, kOk));
  }
  // But for the generations, everything is as it was.
  const CacheSnapshot after = d.Snapshot();
  for (int32_t row = 0; row < kRows; ++row) {
    const bool was_forked = row >= 8 && row < 12;
    // Once for the Close, and once for a Truncate that had something to do.
    const uint32_t times = !was_forked ? 0 : appended_tokens[row - 8] > 0 ? 2 : 1;
    EXPECT_EQ(after.rows[row].generation, before.rows[row].generation + times * kReplays);
    EXPECT_EQ(after.rows[row].entries, before.rows[row].entries);
    EXPECT_EQ(after.rows[row].is_open, before.rows[row].is_open);
  }
  for (size_t i = 0; i < before.blocks.size(); ++i) {
    EXPECT_EQ(after.blocks[i].references, before.blocks[i].references);
    EXPECT_EQ(after.blocks[i].is_free, before.blocks[i].is_free);
  }
  EXPECT_TRUE(d.Audit().ok());
  EXPECT_TRUE(arena.Reset());
}

TEST(GraphCapture, AHashAndAnAuditCanBeCapturedToo) {
  CacheDriver d = Drive<CudaBackend>(kOptions);
  d.Append({0}, {7});
  CudaDeviceMemoryResource device;
  const OwnedMemory memory = *OwnedMemory::Allocate(device, 1 << 14, 256);
  Carver carver(memory.get());
  uint64_t* const hash = carver.Take<uint64_t>(1);
  AuditReport* const report = carver.Take<AuditReport>(1);
  uint32_t* const workspace = carver.Take<uint32_t>(kOptions.num_blocks);
  CapturedGraph graph([&](StreamRef s) {
    EXPECT_TRUE(d.cache().StateHash(s, hash).ok());
    EXPECT_TRUE(d.cache().Audit(s, report, absl::MakeSpan(workspace, kOptions.num_blocks)).ok());
  });
  for (int replay = 0; replay < 3; ++replay) {
    d.Append({0}, {5});
    graph.Replay();
    ASSERT_TRUE(d.cache().Synchronize(d.stream()).ok());
    EXPECT_EQ(d.Read(hash), d.Hash());
    EXPECT_TRUE(d.Read(report).ok());
    EXPECT_EQ(d.Read(report).free_blocks, d.FreeBlocks());
  }
}

}  // namespace
}  // namespace kvpage::test
