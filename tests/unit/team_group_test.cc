// SPDX-License-Identifier: Apache-2.0
//
// The emulated groups (32 std::threads, and scheduler threads) against the words of
// kvpage/core/group.h: every collective, against sums computed by hand.

#include "tests/support/team_group.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "tests/support/emulated_warp.h"
#include "tests/support/sched_atomics.h"
#include "tests/support/sched_data.h"
#include "tests/support/sched_warp.h"
#include "tests/support/test_seed.h"

namespace kvpage::test {
namespace {

// The value that lane l contributes; not monotone, so that minimum and order matter.
uint64_t ValueOf(uint32_t lane) { return (lane * 7 + 3) % 11; }

// Returns what is wrong in this lane; empty if nothing.
template <class G>
std::string CheckCollectives(G& g) {
  const uint32_t n = g.size();
  uint64_t sum = 0;
  uint64_t before = 0;
  uint64_t least = ~uint64_t{0};
  for (uint32_t l = 0; l < n; ++l) {
    if (l < g.rank()) before += ValueOf(l);
    sum += ValueOf(l);
    least = std::min(least, ValueOf(l));
  }
  const uint64_t mine = ValueOf(g.rank());
  for (int round = 0; round < 5; ++round) {
    if (g.Sum(mine) != sum) return "Sum";
    if (g.Min(mine) != least) return "Min";
    uint64_t total = 0;
    if (g.ExclusiveScan(mine, total) != before || total != sum) return "ExclusiveScan";
    if (g.Any(false)) return "Any of none";
    if (!g.Any(g.rank() == n - 1)) return "Any of the last";
    const uint32_t other = (g.rank() + 1) % n;
    if (g.Shuffle(mine, other) != ValueOf(other)) return "Shuffle";
    if (g.Shuffle(static_cast<uint32_t>(mine), 0) != ValueOf(0)) return "Shuffle of 32 bits";
    const auto published = g.Publish(mine + round);
    for (uint32_t l = g.subgroup_index(); l < n; l += g.num_subgroups()) {
      if (published[l] != ValueOf(l) + round) return "Publish";
      // Collectives of the subgroup leave it alone.
      if (g.num_subgroups() > 1 && g.subgroup().Sum(1u) != g.subgroup().size()) return "subgroup";
    }
    g.Sync();
  }
  return "";
}

struct Merged {
  std::map<uint64_t, std::vector<uint64_t>> results;  // per key: every result handed out
  std::mutex mutex;

  void Record(uint64_t key, uint64_t value) {
    const std::lock_guard<std::mutex> lock(mutex);
    results[key].push_back(value);
  }
};

// Lane l is active unless l % 5 == 4, has key l % 3 and bit l % 64.
template <class G>
void CallByKey(G& g, Merged& ors) {
  const uint32_t l = g.rank();
  g.OrByKey(l % 5 != 4, l % 3, uint64_t{1} << (l % 64),
            [&](uint64_t k, uint64_t v) { ors.Record(k, v); });
}

void ExpectMerged(uint32_t lanes, const Merged& ors) {
  std::map<uint64_t, std::vector<uint64_t>> want_ors;
  for (uint32_t l = 0; l < lanes; ++l) {
    if (l % 5 == 4) continue;
    want_ors[l % 3].resize(1);
    want_ors[l % 3][0] |= uint64_t{1} << (l % 64);
  }
  EXPECT_EQ(ors.results, want_ors);
}

TEST(EmulatedWarp, CollectivesMeanWhatTheConceptSays) {
  RunWarps(2, [](EmulatedWarp& warp) { EXPECT_EQ(CheckCollectives(warp), ""); });
}

TEST(EmulatedWarp, ABlockIsMadeOfWarps) {
  RunBlocks(1, 2, [](EmulatedBlock& block) {
    EXPECT_EQ(block.size(), 64u);
    EXPECT_EQ(block.num_subgroups(), 2u);
    EXPECT_EQ(block.subgroup_index(), block.rank() / 32);
    EXPECT_EQ(block.subgroup().rank(), block.rank() % 32);
    EXPECT_EQ(CheckCollectives(block), "");
  });
}

TEST(EmulatedWarp, ByKeyCallsOncePerKey) {
  Merged ors;
  RunWarps(1, [&](EmulatedWarp& warp) { CallByKey(warp, ors); });
  ExpectMerged(32, ors);
}

TEST(EmulatedWarp, WarpsThatRunTogetherStartInDifferentPlaces) {
  std::vector<std::atomic<uint32_t>> lanes_at(3);
  RunWarps(3, [&](EmulatedWarp& warp) { ++lanes_at[warp.spread()]; });
  for (const auto& lanes : lanes_at) EXPECT_EQ(lanes.load(), 32u);
}

TEST(SchedWarp, CollectivesMeanWhatTheConceptSays) {
  ForEachSeed(20, [](uint64_t seed) {
    for (const uint32_t subgroups : {1u, 2u, 3u}) {
      Scheduler scheduler({.seed = seed});
      SpawnBlock(scheduler, subgroups, 3, 0, [&](SchedBlock& block) {
        const std::string wrong = CheckCollectives(block);
        if (!wrong.empty()) scheduler.Fail(wrong);
      });
      if (!scheduler.Run()) return scheduler.failure();
    }
    return std::string();
  });
}

TEST(SchedWarp, ByKeyCallsOncePerKey) {
  Merged ors;
  Scheduler scheduler({.seed = BaseSeed()});
  SpawnWarp(scheduler, 9, 0, [&](SchedWarp& warp) { CallByKey(warp, ors); });
  EXPECT_TRUE(scheduler.Run()) << scheduler.failure();
  ExpectMerged(9, ors);
}

// Lane 0 writes, a collective passes, lane 1 reads.
uint32_t CountRaces(bool has_sync) {
  uint32_t races = 0;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    SchedData<int> data(0);
    Scheduler scheduler({.seed = seed});
    SpawnWarp(scheduler, 2, 0, [&](SchedWarp& warp) {
      if (warp.rank() == 0) data.Write(1);
      if (has_sync) warp.Sync();
      warp.Shuffle(0u, 0);
      if (warp.rank() == 1) data.Read();
    });
    if (!scheduler.Run()) ++races;
  }
  return races;
}

TEST(SchedWarp, OnlySyncOrdersMemory) {
  EXPECT_EQ(CountRaces(true), 0u);
  EXPECT_EQ(CountRaces(false), 50u);
}

TEST(SchedWarp, LanesThatDivergeFailTheRun) {
  Scheduler scheduler({.seed = 1});
  SpawnWarp(scheduler, 2, 0, [](SchedWarp& warp) {
    if (warp.rank() == 0) {
      warp.Sum(1);
    } else {
      warp.Sync();
    }
  });
  EXPECT_FALSE(scheduler.Run());

  Scheduler missing({.seed = 1});
  SpawnWarp(missing, 2, 0, [](SchedWarp& warp) {
    if (warp.rank() == 0) warp.Sync();
  });
  EXPECT_FALSE(missing.Run());
  EXPECT_NE(missing.failure().find("deadlock"), std::string::npos) << missing.failure();
}

}  // namespace
}  // namespace kvpage::test
