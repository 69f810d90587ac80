// SPDX-License-Identifier: Apache-2.0
//
// The set of free bits with one thread; tests/sched has its concurrent part.

#include "kvpage/core/free_bits.h"

#include <gtest/gtest.h>

#include <vector>

#include "kvpage/core/cpu_atomics.h"

namespace kvpage {
namespace {

class FreeBits {
 public:
  FreeBits(uint32_t num_blocks, uint32_t shard_shift) {
    s_.num_blocks = num_blocks;
    s_.shard_shift = shard_shift;
    leaves_.resize(s_.num_leaves(), 0xdead);
    summaries_.resize(s_.num_summaries(), 0xdead);
    s_.leaves = leaves_.data();
    s_.summaries = summaries_.data();
    ref().Init(0, 1);
  }

  FreeBitsRef<CpuAtomics> ref() const { return FreeBitsRef<CpuAtomics>(s_); }
  const FreeBitsStorage& storage() const { return s_; }

  std::vector<BlockId> Claim(uint32_t shard, uint32_t want, uint32_t start = 0) {
    ThreadGroup thread;
    std::vector<BlockId> ids;
    ref().Claim(thread, shard, want, start, ref().Look(thread, shard, start),
                [&](ThreadGroup&, uint32_t position, const ClaimedBlocks& claimed) {
                  EXPECT_EQ(position, ids.size());
                  EXPECT_EQ(claimed.total, PopCount(claimed.bits));
                  claimed.ForEach(thread, [&](uint32_t, BlockId id) { ids.push_back(id); });
                });
    return ids;
  }
  uint32_t NumFree() const {
    uint32_t count = 0;
    for (const uint64_t leaf : leaves_) count += PopCount(leaf);
    return count;
  }

 private:
  FreeBitsStorage s_;
  std::vector<uint64_t> leaves_;
  std::vector<uint64_t> summaries_;
};

std::vector<BlockId> From(BlockId first, uint32_t count) {
  std::vector<BlockId> ids;
  for (uint32_t i = 0; i < count; ++i) ids.push_back(first + i);
  return ids;
}

TEST(FreeBits, InitSetsExactlyTheBlocksThatExist) {
  for (const uint32_t num_blocks : {1u, 63u, 64u, 65u, 128u, 200u, 8192u, 8193u}) {
    for (const uint32_t shift : {6u, 7u, 12u, 13u}) {
      FreeBits bits(num_blocks, shift);
      EXPECT_EQ(bits.NumFree(), num_blocks);
      uint32_t in_shards = 0;
      for (uint32_t s = 0; s < bits.storage().num_shards(); ++s)
        in_shards += bits.ref().BlocksIn(s);
      EXPECT_EQ(in_shards, num_blocks);
      for (uint32_t leaf = 0; leaf < bits.storage().num_leaves(); ++leaf) {
        EXPECT_EQ(bits.ref().IsSummarized(leaf), bits.ref().Leaf(leaf) != 0);
      }
    }
  }
}

TEST(FreeBits, InitByManyWorkersIsTheSame) {
  FreeBits bits(300, 7);
  bits.Claim(0, 100);
  bits.Claim(2, 44);
  for (uint64_t worker : {2, 0, 4, 1, 3}) bits.ref().Init(worker, 5);
  EXPECT_EQ(bits.NumFree(), 300u);
  EXPECT_EQ(bits.Claim(2, 44), From(257, 44));
}

TEST(FreeBits, ClaimTakesTheLowestIdsOfAShard) {
  FreeBits bits(300, 7);
  EXPECT_EQ(bits.Claim(1, 70), From(129, 70));
  EXPECT_EQ(bits.Claim(1, 58), From(199, 58));
  EXPECT_FALSE(bits.ref().IsSummarized(2));
  EXPECT_FALSE(bits.ref().IsSummarized(3));
  EXPECT_EQ(bits.Claim(0, 1), From(1, 1));
}

TEST(FreeBits, ClaimBeginsWhereItIsToldAndGoesOnElsewhere) {
  FreeBits bits(64 * 200, 14);  // one shard of 256 leaves, four summary words
  EXPECT_EQ(bits.Claim(0, 3, 70 * 64), From(70 * 64 + 1, 3));
  EXPECT_EQ(bits.Claim(0, 2, 70 * 64 + 40), From(70 * 64 + 41, 2));
  EXPECT_EQ(bits.Claim(0, 2, 199 * 64), From(199 * 64 + 1, 2));
  std::vector<BlockId> ids = bits.Claim(0, 64, 199 * 64);
  EXPECT_EQ(std::vector<BlockId>(ids.begin(), ids.begin() + 62), From(199 * 64 + 3, 62));
  std::sort(ids.begin(), ids.end());
  EXPECT_EQ(std::unique(ids.begin(), ids.end()) - ids.begin(), 64);
  EXPECT_EQ(bits.NumFree(), 64u * 200 - 71);
}

TEST(FreeBits, EveryBlockCanBeClaimedFromAnywhere) {
  for (const uint32_t start : {0u, 1u, 63u, 64u, 100u, 255u}) {
    FreeBits bits(64 * 130 + 5, 14);
    EXPECT_EQ(bits.Claim(0, 64 * 130 + 5, start).size(), 64u * 130 + 5);
    EXPECT_EQ(bits.NumFree(), 0u);
  }
}

TEST(FreeBits, PutMakesBlocksFreeAndFindable) {
  FreeBits bits(300, 7);
  bits.Claim(1, 128);
  EXPECT_EQ(bits.ref().Put(3, 0b1010), 0u);
  EXPECT_TRUE(bits.ref().IsSummarized(3));
  EXPECT_FALSE(bits.ref().IsSummarized(2));
  EXPECT_EQ(bits.Claim(1, 2), (std::vector<BlockId>{194, 196}));
}

TEST(FreeBits, PutOfWhatIsFreeAlreadyIsSeenAtOnce) {
  FreeBits bits(64, 6);
  bits.Claim(0, 4);
  EXPECT_EQ(bits.ref().Put(0, 0b11), 0u);
  EXPECT_EQ(bits.ref().Put(0, 0b110), 0b10u);
  EXPECT_EQ(bits.NumFree(), 63u);
}

TEST(FreeBits, ASummaryBitOverAnEmptyLeafIsRemovedOnTheWay) {
  FreeBits bits(128, 7);
  bits.Claim(0, 64);
  bits.storage().summaries[0] |= 1;  // as a Put that overtook the last Claim leaves it
  EXPECT_EQ(bits.Claim(0, 1), From(65, 1));
  EXPECT_FALSE(bits.ref().IsSummarized(0));
}

}  // namespace
}  // namespace kvpage
