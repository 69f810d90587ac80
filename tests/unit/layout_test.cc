// SPDX-License-Identifier: Apache-2.0

#include "kvpage/core/layout.h"

#include <gtest/gtest.h>

#include <set>

#include "kvpage/core/types.h"

namespace kvpage {
namespace {

TEST(WordLayout, ContiguousIsTheIdentity) {
  const WordLayout layout = WordLayout::Make(100, 4, Placement::kContiguous);
  EXPECT_EQ(layout.size(), 100u);
  for (uint32_t i = 0; i < 100; ++i) EXPECT_EQ(layout.Index(i), i);
}

TEST(WordLayout, InterleavedIsAPermutationWithinItsSize) {
  for (const uint32_t word_bytes : {4u, 8u}) {
    for (const uint32_t count : {1u, 2u, 63u, 64u, 127u, 128u, 129u, 1000u, 4096u, 100001u}) {
      const WordLayout layout = WordLayout::Make(count, word_bytes, Placement::kInterleaved);
      EXPECT_GE(layout.size(), count);
      std::set<uint32_t> seen;
      for (uint32_t i = 0; i < count; ++i) {
        EXPECT_LT(layout.Index(i), layout.size());
        seen.insert(layout.Index(i));
      }
      EXPECT_EQ(seen.size(), count);
    }
  }
}

TEST(WordLayout, InterleavedNeighboursAreNeverInTheSame256Bytes) {
  for (const uint32_t word_bytes : {4u, 8u}) {
    const uint32_t apart = 256 / word_bytes;
    for (const uint32_t count : {2 * apart, 1000u, 65536u}) {
      const WordLayout layout = WordLayout::Make(count, word_bytes, Placement::kInterleaved);
      EXPECT_GT(layout.stripe_shift, 0u);
      for (uint32_t i = 0; i + 1 < count; ++i) {
        ASSERT_NE(layout.Index(i + 1) / apart, layout.Index(i) / apart) << i << " of " << count;
      }
    }
  }
}

TEST(WordLayout, InterleavedCostsNoMoreThanRounding) {
  for (const uint32_t count : {1u, 100u, 1000u, 1u << 20, kMaxBlocks}) {
    const WordLayout layout = WordLayout::Make(count, 4, Placement::kInterleaved);
    EXPECT_LT(layout.size() - count, 1u << layout.stripe_shift);
  }
}

TEST(WordLayout, AnArrayTooSmallToInterleaveStaysContiguous) {
  const WordLayout layout = WordLayout::Make(60, 4, Placement::kInterleaved);
  for (uint32_t i = 0; i < 60; ++i) EXPECT_EQ(layout.Index(i), i);
}

}  // namespace
}  // namespace kvpage
