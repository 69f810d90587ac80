// SPDX-License-Identifier: Apache-2.0
//
// Drafts, run by one thread on a pool and a table: what the conformance suites test on every
// backend, where one change to an algorithm can be seen by itself. And MoveTokens.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <thread>
#include <vector>

#include "kvpage/core/cpu_atomics.h"
#include "kvpage/core/move_tokens.h"
#include "tests/support/core_world.h"
#include "tests/support/emulated_warp.h"

namespace kvpage::test {
namespace {

using enum OpStatus;
using World = CoreWorld<CpuAtomics>;
using Results = World::Results;

World MakeWorld() {
  PageTableOptions table;
  table.max_sequences = 4;
  table.max_blocks_per_sequence = 6;
  table.block_tokens = 4;
  table.max_draft_tokens = 10;
  table.max_draft_branches = 3;
  return World({.num_blocks = 40, .pending_sets = 2}, table);
}

void ExpectFree(World& world, uint64_t free, uint64_t pending = 0) {
  const AuditReport report = world.Audit();
  EXPECT_TRUE(report.ok());
  EXPECT_EQ(report.free_blocks, free);
  EXPECT_EQ(report.pending_blocks, pending);
}

TEST(Draft, CommitFreesTheOtherBranches) {
  World world = MakeWorld();
  world.Append({4, 4});
  world.BeginDraft({3, 6}, {3, 2});
  ExpectFree(world, 40 - 2 - 3 - 4);
  EXPECT_EQ(world.Commit({3, 2}, {1, 1}), Results({kOk, kOk}));
  EXPECT_EQ(world.table().Entry(0, 1), 4u);
  EXPECT_EQ(world.table().Entry(1, 1), 8u);
  ExpectFree(world, 36);
}

TEST(Draft, CommitFreesTheTailThatItReplaces) {
  World world = MakeWorld();
  world.Append({6});
  world.BeginDraft({1}, {2});
  EXPECT_EQ(world.Commit({1}, {0}), Results({kOk}));
  EXPECT_EQ(world.table().Entry(0, 1), 3u);
  EXPECT_EQ(world.table().Sequence(0).generation, 1u);
  ExpectFree(world, 38);
}

TEST(Draft, CommitHeedsItsFence) {
  World world = MakeWorld();
  world.Append({6});
  world.BeginDraft({1}, {2});
  EXPECT_EQ(world.Commit({1}, {0}, 3), Results({kOk}));
  ExpectFree(world, 36, 2);
}

TEST(Draft, MayBeTheCallersWhoHoldsItToo) {
  World world = MakeWorld();
  world.Append({4});
  world.BeginDraft({5}, {1});
  ThreadGroup me;
  EXPECT_EQ(world.pool().Share(me, 2), kOk);
  ExpectFree(world, 40 - 3);
  EXPECT_EQ(world.Commit({0}, {0}), Results({kOk}));
  EXPECT_EQ(world.pool().Release(me, 2), kOk);
  ExpectFree(world, 39);
}

TEST(Draft, ASecondCommitFindsNone) {
  World world = MakeWorld();
  world.Append({6, 6});
  world.BeginDraft({3, 3}, {1, 1});
  world.SetRows({1, 0, 1, 0});
  EXPECT_EQ(world.Commit({1, 9, 2, 3}, {0, 0, 0, 0}), Results({kOk, kInvalid, kWrongState, kOk}));
  EXPECT_EQ(world.table().Sequence(1).kv_len, 7);
  EXPECT_EQ(world.table().Sequence(0).kv_len, 9);
  EXPECT_EQ(world.Commit({0}, {0}), Results({kWrongState}));
}

TEST(Draft, CloseOfARowThatNeverHadOneFreesNoOthers) {
  World world = MakeWorld();
  world.Append({4, 4, 4});
  world.SetRows({1, 2});
  world.BeginDraft({5, 5}, {3, 1});
  world.SetRows({0, 2});
  EXPECT_EQ(world.Close(), Results({kOk, kOk}));
  ExpectFree(world, 40 - 1 - 6);
  world.SetRows({1});
  EXPECT_EQ(world.Commit({5}, {2}), Results({kOk}));
}

TEST(Draft, CloseFreesTheDraftsOfItsRows) {
  World world = MakeWorld();
  world.SetRows({0, 1, 2, 3});
  world.Append({4, 4, 4, 4});
  world.SetRows({1, 3});
  world.BeginDraft({5, 5}, {1, 3});
  world.SetRows({0, 1});
  EXPECT_EQ(world.Close(), Results({kOk, kOk}));
  ExpectFree(world, 40 - 2 - 6);
  EXPECT_TRUE(world.table().Sequence(3).drafting);
}

// A thread block whose first warp is long behind the second: with rows in reverse order of the
// lanes, later mentions come first.
class LateFirstWarp : public EmulatedBlock {
 public:
  LateFirstWarp(const EmulatedBlock& block, const World& world) : EmulatedBlock(block) {
    if (subgroup_index() != 0) return;
    while (world.table().Sequence(1).drafting) std::this_thread::yield();
  }
};

TEST(Draft, TheFirstMentionWinsAlsoIfItComesLast) {
  World world = MakeWorld();
  world.Append({6, 6, 6});
  world.BeginDraft({5, 5, 5}, {1, 1, 2});
  // Places 0 .. 31 are the late warp's.
  std::vector<int32_t> rows(34, -1), tokens(34, 2), branches(34, 0);
  rows[0] = 0, rows[1] = 2, rows[32] = 0, rows[33] = 1;
  tokens[0] = 4, tokens[32] = 1;
  std::vector<OpStatus> statuses(34, kInvalid);
  CommitDraftBatch batch;
  batch.batch.rows = rows.data();
  batch.batch.num_rows = 34;
  batch.batch.statuses = statuses.data();
  batch.tokens = tokens.data();
  batch.branches = branches.data();
  RunBlocks(1, 2, [&](EmulatedBlock& block) {
    LateFirstWarp late(block, world);
    CommitDraft<CpuAtomics, LateFirstWarp>(late, world.pool(), world.table(), batch).Run();
  });
  EXPECT_EQ(statuses[0], kOk);
  EXPECT_EQ(statuses[1], kOk);
  EXPECT_EQ(statuses[32], kWrongState);
  EXPECT_EQ(statuses[33], kOk);
  EXPECT_EQ(world.table().Sequence(0).kv_len, 10);
  EXPECT_EQ(world.table().Sequence(2).kv_len, 8);
  ExpectFree(world, 40 - 3 - 2 - 2);
}

TEST(Draft, AWarpJudgesAShortageByWhatEachRowFinds) {
  World world = MakeWorld();
  ThreadGroup me;
  std::vector<BlockId> ids(36);
  ASSERT_EQ(world.pool().TryAllocate(me, 36, ids.data()), kOk);
  const auto& pool = world.pool();
  const uint32_t set = pool.pending().ChooseSet(me, {.epoch = 1});
  pool.words().Drop(ids[0], 1, BlockPoolRef<CpuAtomics>::kAnyGeneration);
  pool.pending().Put(set, pool.bits().LeafOf(ids[0]), pool.bits().BitOf(ids[0]));
  // 4 are free and 1 is pending; the rows need 5, 3, 5 and 2.
  const std::vector<int32_t> rows = {0, 1, 2, 3}, tokens = {20, 12, 20, 8};
  Results statuses(4, kInvalid);
  ReserveBatch batch;
  batch.batch.rows = rows.data();
  batch.batch.num_rows = 4;
  batch.batch.statuses = statuses.data();
  batch.tokens = tokens.data();
  RunBlocks(1, 1, [&](EmulatedBlock& block) {
    AppendRows<CpuAtomics, EmulatedBlock>(block, pool, world.table(), batch).Run();
  });
  EXPECT_EQ(statuses, Results({kRetryAfterFence, kOk, kFull, kRetryAfterFence}));
}

TEST(MoveTokens, SharesEveryByteOutAmongWorkersInOrder) {
  // 2 layers of 3 blocks with 2 heads of 4 tokens of 8 bytes.
  constexpr int64_t kHead = 4 * 8, kBlock = 2 * kHead, kLayer = 3 * kBlock;
  std::vector<uint8_t> data(2 * kLayer);
  std::iota(data.begin(), data.end(), uint8_t{0});
  std::vector<uint8_t> expected = data;
  KvTensor tensor;
  tensor.data = data.data();
  tensor.num_layers = 2;
  tensor.layer_stride = kLayer;
  tensor.block_stride = kBlock;
  tensor.num_heads = 2;
  tensor.head_stride = kHead;
  tensor.token_stride = 8;
  tensor.head_bytes = 8;
  // Slots: 4 * block + token. The second source is overwritten after it has been moved.
  const std::vector<TokenMove> moves = {{6, 5}, {-1, -1}, {9, 6}, {11, 9}};
  for (const TokenMove& move : moves) {
    if (move.src < 0) continue;
    for (int64_t layer = 0; layer < 2; ++layer) {
      for (int64_t head = 0; head < 2; ++head) {
        const auto at = [&](int64_t slot) {
          return expected.begin() + layer * kLayer + slot / 4 * kBlock + head * kHead +
                 slot % 4 * 8;
        };
        std::copy_n(at(move.src), 8, at(move.dst));
      }
    }
  }
  for (const uint64_t worker : {2, 0, 1}) {
    MoveTokensOfRow<uint16_t>(tensor, 4, moves.data(), 4, worker, 3);
  }
  EXPECT_EQ(data, expected);
}

}  // namespace
}  // namespace kvpage::test
