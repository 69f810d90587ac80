// SPDX-License-Identifier: Apache-2.0
//
// Blocks that a group claimed, numbered over its lanes: any lane gets any of them, and sharing them
// out gives each to one lane.

#include "kvpage/core/claimed_blocks.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <mutex>
#include <vector>

#include "tests/support/emulated_warp.h"
#include "tests/support/random.h"

namespace kvpage::test {
namespace {

// What lane l claimed, and all of it in order.
struct Claim {
  std::vector<uint64_t> bits;
  std::vector<BlockId> ids;

  ClaimedBlocks Of(uint32_t lane) const {
    ClaimedBlocks claimed{.total = static_cast<uint32_t>(ids.size()), .bits = bits[lane]};
    for (uint32_t l = 0; l < lane; ++l) claimed.before += PopCount(bits[l]);
    claimed.first = 1 + 64 * lane;
    return claimed;
  }
};

Claim RandomClaim(uint64_t seed, uint32_t lanes) {
  Random random(seed);
  Claim claim;
  for (uint32_t l = 0; l < lanes; ++l) {
    claim.bits.push_back(random.Percent(50) ? 0 : random.Next() & random.Next());
    for (uint64_t left = claim.bits[l]; left != 0; left &= left - 1) {
      claim.ids.push_back(1 + 64 * l + LowestBit(left));
    }
  }
  return claim;
}

TEST(ClaimedBlocks, EachLaneGetsTheNumberItAsksFor) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Claim claim = RandomClaim(seed, kWarpLanes);
    if (claim.ids.empty()) continue;
    RunWarps(1, [&](EmulatedWarp& warp) {
      const ClaimedBlocks claimed = claim.Of(warp.rank());
      Random random(seed ^ 77);  // the same in all lanes
      for (int round = 0; round < 5; ++round) {
        const uint32_t item =
            (random.Below(1000) + 7 * warp.rank()) % static_cast<uint32_t>(claim.ids.size());
        EXPECT_EQ(claimed.Get(warp, item), claim.ids[item]);
      }
    });
  }
}

TEST(ClaimedBlocks, SharingOutGivesEachBlockToOneLane) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Claim claim = RandomClaim(seed, kWarpLanes);
    std::vector<BlockId> got(claim.ids.size(), kNullBlock);
    std::mutex mutex;
    RunWarps(1, [&](EmulatedWarp& warp) {
      claim.Of(warp.rank()).ForEach(warp, [&](uint32_t item, BlockId id) {
        const std::lock_guard<std::mutex> lock(mutex);
        EXPECT_EQ(got[item], kNullBlock);
        got[item] = id;
      });
    });
    EXPECT_EQ(got, claim.ids);
  }
}

TEST(ClaimedBlocks, AThreadHasThemAll) {
  const Claim claim = RandomClaim(3, 1);
  ThreadGroup thread;
  std::vector<BlockId> got;
  claim.Of(0).ForEach(thread, [&](uint32_t, BlockId id) { got.push_back(id); });
  EXPECT_EQ(got, claim.ids);
}

TEST(ClaimedBlocks, AdjacentBlocksAreNumberedFromTheFirst) {
  ThreadGroup thread;
  const ClaimedBlocks claimed{.total = 5, .run = 40};
  EXPECT_EQ(claimed.Get(thread, 0), 40u);
  EXPECT_EQ(claimed.Get(thread, 4), 44u);
  std::vector<BlockId> got;
  claimed.ForEach(thread, [&](uint32_t, BlockId id) { got.push_back(id); });
  EXPECT_EQ(got, (std::vector<BlockId>{40, 41, 42, 43, 44}));
}

}  // namespace
}  // namespace kvpage::test
