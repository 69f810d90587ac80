// SPDX-License-Identifier: Apache-2.0
//
// Warps of one thread block that release one row's entries, one warp long after the other: what the
// first finds wrong must not keep the second from its work.

#include "kvpage/core/release_rows.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <thread>
#include <vector>

#include "kvpage/core/append_rows.h"
#include "kvpage/core/cpu_atomics.h"
#include "tests/support/emulated_warp.h"

namespace kvpage::test {
namespace {

// A thread block whose second warp goes on from its second Sync only when ready() is true.
template <class Ready>
class LateSecondWarp : public EmulatedBlock {
 public:
  LateSecondWarp(const EmulatedBlock& block, Ready ready) : EmulatedBlock(block), ready_(ready) {}

  void Sync() {
    EmulatedBlock::Sync();
    if (++syncs_ == 2 && subgroup_index() == 1) {
      while (!ready_()) std::this_thread::yield();
    }
  }

 private:
  Ready ready_;
  uint32_t syncs_ = 0;
};

TEST(ReleaseRows, ADoubleFreeSeenByOneWarpKeepsNoBlockFromTheOthers) {
  constexpr uint32_t kBlocks = 64;  // 32 entries for each of two warps
  const BlockPoolOptions pool_options{.num_blocks = kBlocks};
  PageTableOptions table_options;
  table_options.max_sequences = 1;
  table_options.max_blocks_per_sequence = kBlocks;
  table_options.block_tokens = 1;
  std::vector<uint64_t> pool_memory(BlockPoolStorage::RequiredBytes(pool_options) / 8 + 1);
  std::vector<uint64_t> table_memory(PageTableStorage::RequiredBytes(table_options) / 8 + 1);
  Carver pool_carver(pool_memory.data());
  Carver table_carver(table_memory.data());
  const BlockPoolRef<CpuAtomics> pool(BlockPoolStorage::Carve(pool_carver, pool_options));
  const PageTableRef<CpuAtomics> table(PageTableStorage::Carve(table_carver, table_options));
  pool.Init(0, 1);
  table.Init(0, 1);

  const int32_t row = 0;
  const int32_t tokens = kBlocks;
  OpStatus status = OpStatus::kInvalid;
  RowBatch batch;
  batch.rows = &row;
  batch.num_rows = 1;
  batch.statuses = &status;
  ThreadGroup me;
  AppendRows<CpuAtomics, ThreadGroup>(me, pool, table, ReserveBatch{batch, &tokens}).Run();
  ASSERT_EQ(status, OpStatus::kOk);
  ASSERT_EQ(pool.Release(me, table.Entry(0, 0)), OpStatus::kOk);  // the row's, not ours

  const auto first_warp_is_through = [&] { return (pool.bits().Leaf(0) & 2) != 0; };
  RunBlocks(1, 2, [&](EmulatedBlock& block) {
    LateSecondWarp late(block, first_warp_is_through);
    ReleaseRows<CpuAtomics, decltype(late)>(late, pool, table, CloseBatch{batch}).Run();
  });
  EXPECT_EQ(status, OpStatus::kDoubleFree);
  EXPECT_EQ(pool.bits().Leaf(0), ~uint64_t{0});
  EXPECT_EQ(pool.gate().FreeAtRest(0), kBlocks);
  for (uint32_t i = 0; i < kBlocks; ++i) EXPECT_EQ(table.Entry(0, i), kNullBlock) << i;
}

}  // namespace
}  // namespace kvpage::test
