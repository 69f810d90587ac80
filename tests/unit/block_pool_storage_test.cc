// SPDX-License-Identifier: Apache-2.0

#include "kvpage/core/block_pool_storage.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace kvpage {
namespace {

TEST(BlockPoolStorage, SaysWhichOptionsAllowAPool) {
  EXPECT_FALSE(BlockPoolStorage::IsValid({.num_blocks = 0}));
  EXPECT_TRUE(BlockPoolStorage::IsValid({.num_blocks = 1}));
  EXPECT_TRUE(BlockPoolStorage::IsValid({.num_blocks = kMaxBlocks}));
  EXPECT_FALSE(BlockPoolStorage::IsValid({.num_blocks = kMaxBlocks + 1}));
  const auto with_shards = [](uint32_t num_blocks, uint32_t per_shard) {
    return BlockPoolStorage::IsValid({.num_blocks = num_blocks, .blocks_per_shard = per_shard});
  };
  EXPECT_TRUE(with_shards(10, 64));
  EXPECT_FALSE(with_shards(10, 32));
  EXPECT_FALSE(with_shards(1000, 96));
  EXPECT_TRUE(with_shards(64 * 64, 64));
  EXPECT_FALSE(with_shards(64 * 64 + 1, 64));
  EXPECT_TRUE(with_shards(kMaxBlocks, kMaxBlocks));
  EXPECT_FALSE(with_shards(kMaxBlocks, 1u << 31));
}

TEST(BlockPoolStorage, ALargePoolHas33To64Shards) {
  for (uint32_t shift = 16; shift <= 30; ++shift) {
    for (const uint32_t num_blocks : {(1u << shift) - 1, 1u << shift, (1u << shift) - 7777}) {
      Carver counting(nullptr);
      const auto s = BlockPoolStorage::Carve(counting, {.num_blocks = num_blocks});
      EXPECT_GE(s.gate.num_shards, 33u) << num_blocks;
      EXPECT_LE(s.gate.num_shards, kMaxShards) << num_blocks;
      EXPECT_EQ(s.gate.num_shards, s.bits.num_shards());
      EXPECT_EQ(s.gate.capacity, num_blocks);
      EXPECT_EQ(s.num_blocks(), num_blocks);
    }
  }
  Carver counting(nullptr);
  EXPECT_EQ(BlockPoolStorage::Carve(counting, {.num_blocks = 1024}).gate.num_shards, 1u);
  EXPECT_EQ(BlockPoolStorage::Carve(counting, {.num_blocks = 1025}).gate.num_shards, 2u);
}

TEST(BlockPoolStorage, MetadataIsAtMostFiveBytesPerBlock) {
  for (const Placement words : {Placement::kContiguous, Placement::kInterleaved}) {
    const size_t bytes =
        BlockPoolStorage::RequiredBytes({.num_blocks = 1 << 20, .block_words = words});
    EXPECT_LE(bytes, size_t{5} << 20);
  }
}

TEST(BlockPoolStorage, ArraysFillTheMemoryAndDoNotOverlap) {
  for (const uint32_t num_blocks : {1u, 100u, 5000u, 100000u}) {
    for (const Placement placement : {Placement::kContiguous, Placement::kInterleaved}) {
      const BlockPoolOptions options = {
          .num_blocks = num_blocks, .block_words = placement, .gate_words = placement};
      const size_t required = BlockPoolStorage::RequiredBytes(options);
      alignas(256) static char base[1 << 20];
      ASSERT_LE(required, sizeof(base));
      Carver carver(base);
      const BlockPoolStorage s = BlockPoolStorage::Carve(carver, options);
      EXPECT_EQ(carver.bytes(), required);
      const auto range = [&](const auto* array, uint64_t count) {
        const size_t at = reinterpret_cast<const char*>(array) - base;
        EXPECT_EQ(at % Carver::kAlignment, 0u);
        return std::pair<size_t, size_t>(at, at + count * sizeof(*array));
      };
      std::vector<std::pair<size_t, size_t>> ranges = {
          range(s.gate.words, GateStorage::NumWords(s.gate.num_shards, s.gate.stride)),
          range(s.bits.summaries, s.bits.num_summaries()),
          range(s.bits.leaves, s.bits.num_leaves()), range(s.words.words, s.words.layout.size())};
      std::sort(ranges.begin(), ranges.end());
      for (size_t i = 0; i + 1 < ranges.size(); ++i) {
        EXPECT_LE(ranges[i].second, ranges[i + 1].first);
      }
      EXPECT_LE(ranges.back().second, required);
    }
  }
}

}  // namespace
}  // namespace kvpage
