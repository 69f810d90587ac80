// SPDX-License-Identifier: Apache-2.0
//
// Groups whose lanes saw or did different things before one of them settles what the group took,
// under the seeded scheduler: who sees the settlement must also see the credits that its lanes saw,
// or a count that was never short looks Full.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "tests/sched/gate_world.h"
#include "tests/support/sched_warp.h"
#include "tests/support/test_seed.h"

namespace kvpage::test {
namespace {

// A warp that takes blocks, and another thread that mostly comes right after it.
class SettlePlay {
 public:
  SettlePlay(uint64_t seed, uint32_t num_shards, const Counts& blocks, const Counts& owned)
      : scheduler_({.seed = seed}), world_(scheduler_, num_shards, blocks, owned) {}

  Scheduler& scheduler() { return scheduler_; }
  GateWorld& world() { return world_; }

  // By a lane of the warp.
  void Reserve(SchedWarp& warp, uint32_t n, uint32_t home) {
    if (warp.rank() == 1) start_ = world_.history().Begin();
    const OpStatus status =
        world_.gate().Take(warp, n, home, [&](auto&& w, uint32_t s, uint32_t count, uint32_t) {
          if (w.rank() == 0) world_.Hand(s, count, warps_);
        });
    // Lane 1 is the one that has seen or done something before.
    if (warp.rank() == 1) world_.history().EndReserve(start_, n, status == OpStatus::kOk);
    if (warp.rank() == 0) SchedAtomics::StoreRelaxed(&has_settled_, uint64_t{1});
  }

  std::string Run(uint32_t observers_need) {
    scheduler_.Spawn([&] {
      // Mostly after the warp, in time; the flag orders nothing.
      for (uint32_t i = 0; i < 40 && SchedAtomics::LoadRelaxed(&has_settled_) == 0; ++i) {
        SchedAtomics::Pause(i);
      }
      world_.Reserve(observers_need, 0, observers_);
    });
    if (!scheduler_.Run()) return scheduler_.failure();
    const std::string wrong = world_.CheckAtRest();
    return wrong.empty() ? wrong : wrong + "\n" + scheduler_.Trace();
  }

 private:
  Scheduler scheduler_;
  GateWorld world_;
  Counts warps_ = {};
  Counts observers_ = {};
  CounterHistory::Start start_;
  uint64_t has_settled_ = 0;
};

// Lane 1 sees a credit of its shard, and so an earlier one of shard 2, and its attempt succeeds.
std::string PlayAnotherLaneAttempts(uint64_t seed) {
  SettlePlay play(seed, 3, {1, 2, 2}, {1, 1, 2});
  play.scheduler().Spawn([&] {
    Counts mine = {0, 1, 2};
    play.world().Release({0, 0, 2}, mine);
    play.world().Release({0, 1, 0}, mine);
  });
  SpawnWarp(play.scheduler(), 3, 0, [&](SchedWarp& warp) { play.Reserve(warp, 2, 0); });
  return play.Run(1);
}

TEST(EarlySettleSched, ASettlementCarriesWhatTheAttemptingLaneSaw) {
  ForEachSeed(30000, PlayAnotherLaneAttempts);
}

// Lane 1 has released a block by itself; then the warp takes one of another shard.
std::string PlayAnotherLaneReleased(uint64_t seed) {
  SettlePlay play(seed, 2, {1, 1, 0}, {1, 0, 0});
  SpawnWarp(play.scheduler(), 2, 0, [&](SchedWarp& warp) {
    if (warp.rank() == 1) {
      Counts mine = {1, 0, 0};
      play.world().Release({1, 0, 0}, mine);
    }
    play.Reserve(warp, 1, 1);
  });
  return play.Run(1);
}

TEST(EarlySettleSched, ASettlementCarriesWhatAnotherLaneReleased) {
  ForEachSeed(10000, PlayAnotherLaneReleased);
}

// Lane 0 takes the two blocks of shard 0, lane 1 the one that comes back to shard 1. It sees that
// credit, and so the three of shard 2 before it.
std::string PlayLanesGather(uint64_t seed) {
  SettlePlay play(seed, 3, {2, 1, 3}, {0, 1, 3});
  play.scheduler().Spawn([&] {
    Counts mine = {0, 1, 3};
    play.world().Release({0, 0, 3}, mine);
    play.world().Release({0, 1, 0}, mine);
  });
  SpawnWarp(play.scheduler(), 3, 0, [&](SchedWarp& warp) { play.Reserve(warp, 3, 0); });
  return play.Run(2);
}

TEST(EarlySettleSched, EveryPartOfAHandIsSettledAfterWhatAllLanesSaw) {
  ForEachSeed(10000, PlayLanesGather);
}

}  // namespace
}  // namespace kvpage::test
