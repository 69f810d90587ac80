// SPDX-License-Identifier: Apache-2.0
//
// The block pool's warp and thread-block code with CpuAtomics and real parallelism: each lane is a
// std::thread. ThreadSanitizer watches the plain memory that stands for the blocks.

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <vector>

#include "kvpage/core/block_pool_ref.h"
#include "kvpage/core/cpu_atomics.h"
#include "tests/support/emulated_warp.h"
#include "tests/support/test_seed.h"

namespace kvpage::test {
namespace {

using Pool = BlockPoolRef<CpuAtomics>;

// A pool with one plain word per block.
class EmulatedWarpPool : public testing::Test {
 protected:
  Pool Make(uint32_t num_blocks) {
    const BlockPoolOptions options{.num_blocks = num_blocks, .blocks_per_shard = 64};
    memory_.assign(BlockPoolStorage::RequiredBytes(options) / sizeof(uint64_t), 0);
    blocks_.assign(num_blocks + 1, 0);
    Carver carver(memory_.data());
    const Pool pool(BlockPoolStorage::Carve(carver, options));
    pool.Init(0, 1);
    return pool;
  }

  void ExpectAllFree(const Pool& pool) {
    for (uint32_t s = 0; s < pool.gate().num_shards(); ++s) {
      EXPECT_EQ(pool.gate().FreeAtRest(s), pool.bits().BlocksIn(s));
    }
    for (BlockId id = 1; id <= pool.num_blocks(); ++id) {
      EXPECT_NE(pool.bits().Leaf(pool.bits().LeafOf(id)) & pool.bits().BitOf(id), 0u) << id;
    }
  }

  std::vector<uint64_t> memory_;
  std::vector<uint64_t> blocks_;
};

TEST_F(EmulatedWarpPool, LanesTakeAndReturnTheirOwnBlocks) {
  // Fewer blocks than lanes: somebody always goes without.
  const Pool pool = Make(70);
  std::atomic<uint32_t> mistakes{0};
  std::atomic<uint32_t> served{0};
  RunWarps(3, [&](EmulatedWarp& warp) {
    for (uint32_t round = 0; round < ScaledCount(100); ++round) {
      const BlockId mine = pool.TryAllocateOne(warp);
      const uint64_t cookie = warp.spread() * 1000 + warp.rank();
      if (mine != kNullBlock) {
        ++served;
        blocks_[mine] = cookie;
      }
      warp.Sync();
      if (mine != kNullBlock && blocks_[mine] != cookie) ++mistakes;
      if (pool.Release(warp, mine) != OpStatus::kOk) ++mistakes;
    }
  });
  EXPECT_EQ(mistakes.load(), 0u);
  EXPECT_GT(served.load(), 0u);
  ExpectAllFree(pool);
}

TEST_F(EmulatedWarpPool, BlocksOfThreadsTakeTogetherFromSeveralShards) {
  const Pool pool = Make(150);
  constexpr uint32_t kTogether = 100;  // more than a shard holds
  std::atomic<uint32_t> mistakes{0};
  std::atomic<uint32_t> successes{0};
  std::vector<std::vector<BlockId>> ids(2, std::vector<BlockId>(kTogether));
  RunBlocks(2, 2, [&](EmulatedBlock& block) {
    std::vector<BlockId>& mine = ids[block.spread() / 2];
    for (uint32_t round = 0; round < ScaledCount(20); ++round) {
      const OpStatus status = pool.TryAllocate(block, kTogether, mine.data());
      block.Sync();
      if (status == OpStatus::kOk && block.rank() == 0) ++successes;
      for (uint32_t base = 0; status == OpStatus::kOk && base < kTogether; base += block.size()) {
        const uint32_t i = base + block.rank();
        const BlockId id = i < kTogether ? mine[i] : kNullBlock;
        if (id != kNullBlock) blocks_[id] += block.spread();
        if (pool.Release(block, id) != OpStatus::kOk) ++mistakes;
      }
      block.Sync();
    }
  });
  EXPECT_EQ(mistakes.load(), 0u);
  EXPECT_GT(successes.load(), 0u);
  ExpectAllFree(pool);
}

}  // namespace
}  // namespace kvpage::test
