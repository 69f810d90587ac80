// SPDX-License-Identifier: Apache-2.0

#include "kvpage/core/bits.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/support/random.h"

namespace kvpage {
namespace {

TEST(Bits, CeilDivAndRoundUp) {
  EXPECT_EQ(CeilDiv(0, 4), 0u);
  EXPECT_EQ(CeilDiv(1, 4), 1u);
  EXPECT_EQ(CeilDiv(4, 4), 1u);
  EXPECT_EQ(CeilDiv(5, 4), 2u);
  EXPECT_EQ(CeilDiv((uint64_t{1} << 40) + 1, uint64_t{1} << 20), (1u << 20) + 1);
  EXPECT_EQ(RoundUp(0, 256), 0u);
  EXPECT_EQ(RoundUp(1, 256), 256u);
  EXPECT_EQ(RoundUp(256, 256), 256u);
}

// Against the plainest loop over the bits.
TEST(Bits, SelectAndLowestAgreeWithALoop) {
  test::Random random(1);
  for (int n = 0; n < 2000; ++n) {
    uint64_t word = random.Next();
    if (n % 3 == 0) word &= random.Next() & random.Next();
    if (n == 0) word = ~uint64_t{0};
    if (n == 1) word = uint64_t{1} << 63;
    uint64_t lowest = 0;
    uint32_t k = 0;
    for (uint32_t i = 0; i < 64; ++i) {
      if ((word >> i & 1) == 0) continue;
      EXPECT_EQ(SelectBit(word, k), i);
      EXPECT_EQ(LowestBits(word, k), lowest);
      if (k == 0) {
        EXPECT_EQ(LowestBit(word), i);
      }
      lowest |= uint64_t{1} << i;
      ++k;
    }
    EXPECT_EQ(PopCount(word), k);
    EXPECT_EQ(LowestBits(word, k), word);
    EXPECT_EQ(LowestBits(word, 1000), word);
  }
  EXPECT_EQ(LowestBits(0, 3), 0u);
  EXPECT_EQ(PopCount(0), 0u);
}

TEST(Bits, MixBitsKeepsNumbersApart) {
  std::set<uint64_t> high_halves;
  for (uint64_t i = 0; i < 1000; ++i) high_halves.insert(MixBits(i) >> 32);
  EXPECT_GT(high_halves.size(), 995u);
  EXPECT_EQ(MixBits(0), 0xe220a8397b1dcdafull);  // SplitMix64's first number from state 0
}

}  // namespace
}  // namespace kvpage
