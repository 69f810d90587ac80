// SPDX-License-Identifier: Apache-2.0
//
// Which batches go the short way, by an emulated thread block of more lanes than the conformance
// suites have; that it answers as the general way does is tested there.

#include "kvpage/core/append_rows.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <vector>

#include "kvpage/core/cpu_atomics.h"
#include "tests/support/emulated_warp.h"

namespace kvpage::test {
namespace {

constexpr uint32_t kRows = 600;
constexpr uint32_t kWarps = 19;  // of which the last has no row
constexpr uint64_t kCanary = 0xa5a5a5a5a5a5a5a5;

class GrowStepTest : public testing::Test {
 protected:
  GrowStepTest() {
    PageTableOptions options;
    options.max_sequences = kRows;
    options.max_blocks_per_sequence = 16;
    options.block_tokens = 16;
    table_words_ = PageTableStorage::RequiredBytes(options) / sizeof(uint64_t);
    table_memory_.assign(table_words_ + 4096, kCanary);
    Carver carver(table_memory_.data());
    table_ = PageTableStorage::Carve(carver, options);
    const BlockPoolOptions pool{.num_blocks = 8192, .blocks_per_shard = 8192};
    pool_memory_.resize(BlockPoolStorage::RequiredBytes(pool) / sizeof(uint64_t) + 1);
    Carver pool_carver(pool_memory_.data());
    pool_ = BlockPoolStorage::Carve(pool_carver, pool);
    BlockPoolRef<CpuAtomics>(pool_).Init(0, 1);
    PageTableRef<CpuAtomics>(table_).Init(0, 1);
    std::iota(rows_.begin(), rows_.end(), 0);
  }

  // Whether a Reserve of `tokens` for every row went the short way.
  bool Try(int32_t tokens, FailureMode failure = FailureMode::kPerRow) {
    const std::vector<int32_t> all(kRows, tokens);
    ReserveBatch batch;
    batch.batch = {rows_.data(), kRows, statuses_.data(), nullptr, failure};
    batch.tokens = all.data();
    bool short_way = false;
    RunBlocks(1, kWarps, [&](EmulatedBlock& g) {
      const BlockPoolRef<CpuAtomics> pool(pool_);
      const PageTableRef<CpuAtomics> table(table_);
      const bool done =
          AppendRows<CpuAtomics, EmulatedBlock>::Step(g, pool, table, pool_, batch).Try();
      if (g.rank() == 0) short_way = done;
    });
    return short_way;
  }
  uint32_t NumOk() const {
    uint32_t num_ok = 0;
    for (const OpStatus status : statuses_) num_ok += status == OpStatus::kOk;
    return num_ok;
  }
  bool CanaryLives() const {
    for (size_t i = table_words_ + 1; i < table_memory_.size(); ++i) {
      if (table_memory_[i] != kCanary) return false;
    }
    return true;
  }

  size_t table_words_;
  std::vector<uint64_t> table_memory_;
  std::vector<uint64_t> pool_memory_;
  PageTableStorage table_;
  BlockPoolStorage pool_;
  std::vector<int32_t> rows_ = std::vector<int32_t>(kRows);
  std::vector<OpStatus> statuses_ = std::vector<OpStatus>(kRows, OpStatus::kInvalid);
};

TEST_F(GrowStepTest, GivesEachRowTheLowestIdsInBatchOrder) {
  ASSERT_TRUE(Try(2 * 16));
  EXPECT_EQ(NumOk(), kRows);
  const PageTableRef<CpuAtomics> table(table_);
  for (uint32_t row = 0; row < kRows; ++row) {
    ASSERT_EQ(table.Entry(row, 0), 2 * row + 1);
    ASSERT_EQ(table.Entry(row, 1), 2 * row + 2);
  }
  EXPECT_TRUE(CanaryLives());
}

TEST_F(GrowStepTest, LeavesMoreBlocksThanItsListHoldsToTheGeneralWay) {
  ASSERT_GT(kRows * 8, table_.num_ids());
  EXPECT_FALSE(Try(8 * 16));
  EXPECT_TRUE(CanaryLives());
}

TEST_F(GrowStepTest, LeavesWholeBatchesAndLargeRowsToTheGeneralWay) {
  EXPECT_FALSE(Try(16, FailureMode::kWholeBatch));
  EXPECT_FALSE(Try(9 * 16));
  EXPECT_TRUE(Try(16));
}

}  // namespace
}  // namespace kvpage::test
