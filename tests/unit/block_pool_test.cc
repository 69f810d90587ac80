// SPDX-License-Identifier: Apache-2.0
//
// The host's BlockPool: one thread, exact answers, and misuse told at the faulty call. Its
// concurrent part is in tests/stress and tests/sched.

#include "kvpage/block_pool.h"

#include <gtest/gtest.h>

#include <thread>
#include <utility>
#include <vector>

#include "tests/support/failing_resource.h"
#include "tests/support/printing.h"
#include "tests/support/random.h"

namespace kvpage {
namespace {

using test::FailingResource;
using enum OpStatus;
using Ids = std::vector<BlockId>;

BlockPool MakePool(uint32_t num_blocks) {
  return *BlockPool::Create({.num_blocks = num_blocks, .blocks_per_shard = 64});
}

Ids Take(BlockPool& pool, uint32_t n) {
  Ids ids(n);
  EXPECT_EQ(pool.TryAllocate(absl::MakeSpan(ids)), kOk);
  return ids;
}

TEST(BlockPool, OptionsThatAllowNoPoolAreInvalid) {
  FailingResource memory;
  EXPECT_EQ(BlockPool::Create({.num_blocks = 0}, &memory).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(BlockPool::Create({.num_blocks = 1, .blocks_per_shard = 3}, &memory).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(memory.asked(), 0u);
}

TEST(BlockPool, EveryAllocationCanFailAndNothingLeaks) {
  FailingResource memory;
  memory.FailAfter(0);
  EXPECT_EQ(BlockPool::Create({.num_blocks = 10}, &memory).status(),
            absl::ResourceExhaustedError("refused by the test"));
  memory.FailAfter(1);
  {
    absl::StatusOr<BlockPool> pool = BlockPool::Create({.num_blocks = 10}, &memory);
    ASSERT_TRUE(pool.ok());
    BlockPool moved = *std::move(pool);
    Ids ids = Take(moved, 10);
    EXPECT_EQ(moved.Release(ids), kOk);
    EXPECT_EQ(memory.asked(), 2u);  // none by an operation
  }
  EXPECT_EQ(memory.outstanding(), 0u);
}

TEST(BlockPool, HandsOutEveryBlockOnce) {
  for (const uint32_t n : {1u, 63u, 64u, 65u, 200u}) {
    BlockPool pool = MakePool(n);
    EXPECT_EQ(pool.num_blocks(), n);
    std::vector<bool> seen(n + 1, false);
    for (uint32_t i = 0; i < n; ++i) {
      const BlockId id = pool.TryAllocateOne();
      ASSERT_TRUE(id >= 1 && id <= n);
      EXPECT_FALSE(seen[id]);
      seen[id] = true;
      EXPECT_EQ(pool.free_blocks(), n - i - 1);
    }
    EXPECT_EQ(pool.TryAllocateOne(), kNullBlock);
  }
}

TEST(BlockPool, TakesAllOrNone) {
  BlockPool pool = MakePool(100);
  const Ids first = Take(pool, 70);
  Ids ids(31, 777);
  EXPECT_EQ(pool.TryAllocate(absl::MakeSpan(ids)), kFull);
  EXPECT_EQ(ids, Ids(31, 777));
  EXPECT_EQ(pool.free_blocks(), 30u);
  ids.resize(101);
  EXPECT_EQ(pool.TryAllocate(absl::MakeSpan(ids)), kNeverFits);
  EXPECT_EQ(ids[0], 777u);
  ids.resize(30);
  EXPECT_EQ(pool.TryAllocate(absl::MakeSpan(ids)), kOk);
  EXPECT_EQ(pool.TryAllocate({}), kOk);
  EXPECT_EQ(pool.free_blocks(), 0u);
}

TEST(BlockPool, TheLastReferenceMakesABlockFree) {
  BlockPool pool = MakePool(10);
  const Ids ids = Take(pool, 3);
  EXPECT_EQ(pool.Share(ids), kOk);
  EXPECT_EQ(pool.Share(Ids({ids[0], ids[0]})), kOk);
  EXPECT_EQ(pool.Release(ids), kOk);
  EXPECT_EQ(pool.free_blocks(), 7u);
  EXPECT_EQ(pool.Release(ids), kOk);
  EXPECT_EQ(pool.free_blocks(), 9u);
  EXPECT_EQ(pool.Release(Ids({ids[0], kNullBlock, ids[0]})), kOk);
  EXPECT_EQ(pool.free_blocks(), 10u);
}

TEST(BlockPool, MisuseIsToldAtTheFaultyCallAndChangesNothing) {
  BlockPool pool = MakePool(10);
  const Ids ids = Take(pool, 2);
  EXPECT_EQ(pool.Release(Ids({ids[0]})), kOk);
  const uint32_t free = pool.free_blocks();
  EXPECT_EQ(pool.Release(Ids({ids[0]})), kDoubleFree);
  EXPECT_EQ(pool.Release(Ids({ids[1], ids[1]})), kDoubleFree);
  EXPECT_EQ(pool.Release(Ids({ids[1], 11})), kInvalid);
  EXPECT_EQ(pool.Share(Ids({ids[1], ids[0]})), kStale);
  EXPECT_EQ(pool.Share(Ids({0xffffffff})), kInvalid);
  EXPECT_EQ(pool.free_blocks(), free);
  EXPECT_EQ(pool.Release(Ids({ids[1]})), kOk);
  EXPECT_EQ(Take(pool, 10).size(), 10u);
}

TEST(BlockPool, TheFirstBadEntryIsTold) {
  BlockPool pool = MakePool(10);
  const Ids ids = Take(pool, 1);
  EXPECT_EQ(pool.Release(Ids({ids[0], 11, ids[0]})), kInvalid);
  EXPECT_EQ(pool.Release(Ids({ids[0], ids[0], 11})), kDoubleFree);
}

TEST(BlockPool, HandlesKnowTheirLife) {
  BlockPool pool = MakePool(1);
  const BlockId id = pool.TryAllocateOne();
  const BlockHandle old_life = pool.Handle(id);
  EXPECT_EQ(pool.Share(old_life), kOk);
  EXPECT_EQ(pool.Release(old_life), kOk);
  EXPECT_EQ(pool.Release(old_life), kOk);
  EXPECT_EQ(pool.Release(old_life), kStale);
  EXPECT_EQ(pool.TryAllocateOne(), id);
  EXPECT_EQ(pool.Share(old_life), kStale);
  EXPECT_EQ(pool.Release(old_life), kStale);
  EXPECT_EQ(pool.free_blocks(), 0u);
  EXPECT_NE(pool.Handle(id), old_life);
  EXPECT_EQ(pool.Release(BlockHandle{}), kOk);  // the null block
  EXPECT_EQ(pool.Release(BlockHandle{2, 1}), kInvalid);
}

TEST(BlockPool, RandomUseAgreesWithACount) {
  BlockPool pool = MakePool(150);
  test::Random random(3);
  std::vector<Ids> held;
  uint32_t free = 150;
  for (int i = 0; i < 3000; ++i) {
    if (random.Percent(55)) {
      Ids ids(random.Between(1, 60));
      const OpStatus status = pool.TryAllocate(absl::MakeSpan(ids));
      ASSERT_EQ(status, ids.size() <= free ? kOk : kFull);
      if (status != kOk) continue;
      free -= static_cast<uint32_t>(ids.size());
      held.push_back(ids);
    } else if (!held.empty()) {
      std::swap(held[random.Below(static_cast<uint32_t>(held.size()))], held.back());
      ASSERT_EQ(pool.Release(held.back()), kOk);
      free += static_cast<uint32_t>(held.back().size());
      held.pop_back();
    }
    ASSERT_EQ(pool.free_blocks(), free);
  }
}

TEST(BlockPool, ABlockCanChangeThreads) {
  BlockPool pool = MakePool(10);
  Ids ids;
  std::thread([&] { ids = Take(pool, 10); }).join();
  EXPECT_EQ(pool.Release(ids), kOk);
  EXPECT_EQ(pool.free_blocks(), 10u);
}

}  // namespace
}  // namespace kvpage
