// SPDX-License-Identifier: Apache-2.0

#include "tools/replay/usage.h"

#include <gtest/gtest.h>

namespace kvpage::replay {
namespace {

TEST(UsageTest, AveragesOverTheSamplesAndKeepsThePeak) {
  Usage usage(10, 4);
  usage.Allocate(8);
  usage.AddTokens(24);  // of 32 slots
  usage.Sample();
  usage.Free(6);
  usage.DropTokens(16);  // 8 of 8 slots are left
  usage.Sample();
  EXPECT_EQ(usage.blocks_held(), 2u);
  EXPECT_EQ(usage.blocks_allocated(), 8u);
  EXPECT_EQ(usage.blocks_freed(), 6u);
  EXPECT_EQ(usage.peak_blocks(), 8u);
  EXPECT_DOUBLE_EQ(usage.peak_occupancy(), 0.8);
  EXPECT_DOUBLE_EQ(usage.mean_occupancy(), 0.5);
  EXPECT_DOUBLE_EQ(usage.mean_fragmentation(), 0.125);
}

TEST(UsageTest, AnEmptyPoolHasNoFragmentation) {
  Usage usage(10, 4);
  EXPECT_EQ(usage.mean_occupancy(), 0);
  usage.Sample();
  EXPECT_EQ(usage.mean_occupancy(), 0);
  EXPECT_EQ(usage.mean_fragmentation(), 0);
}

}  // namespace
}  // namespace kvpage::replay
