// SPDX-License-Identifier: Apache-2.0

#include "kvpage/core/pending_blocks.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "kvpage/core/block_pool_ref.h"
#include "kvpage/core/cpu_atomics.h"

namespace kvpage::test {
namespace {

using Pool = BlockPoolRef<CpuAtomics>;

// A pool all of whose blocks are taken, and let go under epochs.
class PendingBlocks : public testing::Test {
 protected:
  static constexpr BlockPoolOptions kOptions = {
      .num_blocks = 64 * 130, .blocks_per_shard = 4096, .pending_sets = 2};

  PendingBlocks() : memory_(BlockPoolStorage::RequiredBytes(kOptions) / 8 + 1), pool_(CarvePool()) {
    pool_.Init(0, 1);
    std::vector<BlockId> ids(kOptions.num_blocks);
    EXPECT_EQ(pool_.TryAllocate(me_, kOptions.num_blocks, ids.data()), OpStatus::kOk);
  }
  BlockPoolStorage CarvePool() {
    Carver carver(memory_.data());
    return BlockPoolStorage::Carve(carver, kOptions);
  }
  const PendingBlocksRef<CpuAtomics>& pending() const { return pool_.pending(); }

  void LetGo(BlockId id, uint64_t epoch) {
    const uint32_t set = pending().ChooseSet(me_, {.epoch = epoch});
    ASSERT_NE(set, PendingBlocksRef<CpuAtomics>::kNoSet);
    pool_.words().Drop(id, 1, Pool::kAnyGeneration);
    pending().Put(set, pool_.bits().LeafOf(id), pool_.bits().BitOf(id));
  }
  uint64_t WaitsFor(BlockId id) const {
    uint64_t errors = 0;
    const uint64_t one_more = pending().WaitsFor(id, errors);
    EXPECT_EQ(errors, 0u);
    return one_more == 0 ? 0 : one_more - 1;
  }
  bool IsFree(BlockId id) const {
    return (pool_.bits().Leaf(pool_.bits().LeafOf(id)) & pool_.bits().BitOf(id)) != 0;
  }
  int64_t FreeAtRest() const {
    int64_t free = 0;
    for (uint32_t s = 0; s < pool_.gate().num_shards(); ++s) free += pool_.gate().FreeAtRest(s);
    return free;
  }

  ThreadGroup me_;
  std::vector<uint64_t> memory_;
  Pool pool_;
};

TEST_F(PendingBlocks, CompletingAnEarlierEpochLaterChangesNothing) {
  EXPECT_EQ(pending().Completed(), 0u);
  pending().Complete(5);
  pending().Complete(3);
  EXPECT_EQ(pending().Completed(), 5u);
  EXPECT_EQ(pending().ChooseSet(me_, {.epoch = 5}), PendingBlocksRef<CpuAtomics>::kNoSet);
  EXPECT_NE(pending().ChooseSet(me_, {.epoch = 6}), PendingBlocksRef<CpuAtomics>::kNoSet);
}

TEST_F(PendingBlocks, BecomeFreeWithTheirEpochAndNotBefore) {
  LetGo(1, 1);
  LetGo(2, 2);
  pool_.Drain(me_);
  EXPECT_EQ(pending().NumPending(), 2u);
  pending().Complete(1);
  EXPECT_FALSE(IsFree(1));
  pool_.Drain(me_);
  EXPECT_TRUE(IsFree(1));
  EXPECT_FALSE(IsFree(2));
  EXPECT_EQ(WaitsFor(2), 2u);
  EXPECT_EQ(pending().NumPending(), 1u);
  EXPECT_EQ(FreeAtRest(), 1);
}

TEST_F(PendingBlocks, OfOneEpochShareASet) {
  EXPECT_EQ(pending().ChooseSet(me_, {.epoch = 7}), pending().ChooseSet(me_, {.epoch = 7}));
  const uint64_t word = 7;
  EXPECT_EQ(pending().ChooseSet(me_, {.epoch_word = &word}),
            pending().ChooseSet(me_, {.epoch = 7}));
  EXPECT_NE(pending().ChooseSet(me_, {.epoch = 8}), pending().ChooseSet(me_, {.epoch = 7}));
}

TEST_F(PendingBlocks, OfAnEpochWithoutASetJoinTheNextYoungerOne) {
  LetGo(1, 5);
  LetGo(2, 9);
  LetGo(3, 7);
  LetGo(4, 2);
  EXPECT_EQ(WaitsFor(1), 5u);
  EXPECT_EQ(WaitsFor(2), 9u);
  EXPECT_EQ(WaitsFor(3), 9u);
  EXPECT_EQ(WaitsFor(4), 5u);
}

TEST_F(PendingBlocks, WaitForAYoungerEpochThatNeedsTheirSet) {
  LetGo(1, 5);
  LetGo(2, 9);
  LetGo(3, 10);
  EXPECT_EQ(WaitsFor(1), 5u);
  EXPECT_EQ(WaitsFor(2), 10u);
  EXPECT_EQ(WaitsFor(3), 10u);
}

TEST_F(PendingBlocks, LeaveASetThatIsUsedAgain) {
  for (uint64_t epoch = 1; epoch <= 9; ++epoch) {
    LetGo(static_cast<BlockId>(epoch), epoch);
    if (epoch > 1) pending().Complete(epoch - 1);
    pool_.Drain(me_);
    EXPECT_EQ(pending().NumPending(), 1u);
    EXPECT_EQ(WaitsFor(static_cast<BlockId>(epoch)), epoch);
  }
  EXPECT_EQ(FreeAtRest(), 8);
}

TEST_F(PendingBlocks, OfManyLeavesAndShardsAllBecomeFree) {
  int64_t count = 0;
  for (BlockId id = 1; id <= kOptions.num_blocks; id += 37, ++count) LetGo(id, 3);
  pending().Complete(3);
  pool_.Drain(me_);
  EXPECT_EQ(pending().NumPending(), 0u);
  EXPECT_EQ(FreeAtRest(), count);
  for (BlockId id = 1; id <= kOptions.num_blocks; ++id) EXPECT_EQ(IsFree(id), id % 37 == 1) << id;
  std::vector<BlockId> ids(2);
  EXPECT_EQ(pool_.TryAllocate(me_, 2, ids.data()), OpStatus::kOk);
}

TEST_F(PendingBlocks, MakeTheDifferenceBetweenFullAndRetry) {
  EXPECT_EQ(pending().FullOrRetry(1, 0), OpStatus::kFull);
  LetGo(1, 1);
  LetGo(2, 9);
  EXPECT_EQ(pending().FullOrRetry(2, 0), OpStatus::kRetryAfterFence);
  EXPECT_EQ(pending().FullOrRetry(3, 0), OpStatus::kFull);
  EXPECT_EQ(pending().FullOrRetry(5, 3), OpStatus::kRetryAfterFence);
  EXPECT_EQ(pending().FullOrRetry(6, 3), OpStatus::kFull);
  std::vector<BlockId> ids(3);
  EXPECT_EQ(pool_.TryAllocate(me_, 2, ids.data()), OpStatus::kRetryAfterFence);
  EXPECT_EQ(pool_.TryAllocate(me_, 3, ids.data()), OpStatus::kFull);
}

}  // namespace
}  // namespace kvpage::test
