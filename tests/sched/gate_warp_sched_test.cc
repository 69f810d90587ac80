// SPDX-License-Identifier: Apache-2.0
//
// The exact gate called by warps and thread blocks whose lanes the seeded scheduler interleaves:
// lanes own shards, different lanes lead, and only Sync() orders what they do.

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/sched/gate_world.h"
#include "tests/support/sched_warp.h"
#include "tests/support/test_seed.h"

namespace kvpage::test {
namespace {

// What the lanes of one group share. Touched by one lane at a time, between two Sync().
struct Shared {
  Counts mine = {};
  uint32_t handed = 0;
  CounterHistory::Start start;
};

void Reserve(GateWorld& world, Scheduler& scheduler, SchedBlock& g, Shared& shared, uint32_t n,
             uint32_t home) {
  if (g.rank() == 0) {
    shared.handed = 0;
    shared.start = world.history().Begin();
  }
  const OpStatus status =
      world.gate().Take(g, n, home, [&](auto&& subgroup, uint32_t shard, uint32_t count, uint32_t) {
        if (subgroup.rank() != 0) return;
        shared.handed += count;
        world.Hand(shard, count, shared.mine);
      });
  g.Sync();
  if (g.rank() != 0) return;
  const bool ok = status == OpStatus::kOk;
  if (shared.handed != (ok ? n : 0)) scheduler.Fail("the parts do not add up to the request");
  world.history().EndReserve(shared.start, n, ok);
}

// Gives everything back, each shard's part by another lane.
void Release(GateWorld& world, SchedBlock& g, Shared& shared) {
  if (g.rank() == 0) shared.start = world.history().Begin();
  SchedAtomics::FenceAcqRel();  // F1
  g.Sync();
  for (uint32_t s = g.rank(); s < world.num_shards(); s += g.size()) {
    if (shared.mine[s] > 0) world.Credit(s, shared.mine[s]);
  }
  g.Sync();
  if (g.rank() != 0) return;
  for (uint32_t s = 0; s < world.num_shards(); ++s) {
    // Each shard's part is an operation of its own.
    if (shared.mine[s] > 0) world.history().EndRelease(shared.start, shared.mine[s]);
  }
  shared.mine = {};
}

void Act(GateWorld& world, Scheduler& scheduler, SchedBlock& g, Shared& shared, uint64_t seed,
         uint32_t capacity) {
  Random random(seed);  // the same in every lane
  const uint32_t home = random.Below(world.num_shards());
  const uint32_t operations = random.Between(1, 3);
  for (uint32_t i = 0; i < operations; ++i) {
    g.Sync();
    const bool may_release = Total(shared.mine) > 0;
    g.Sync();
    if (random.Percent(60) && may_release) {
      Release(world, g, shared);
    } else {
      Reserve(world, scheduler, g, shared, random.Between(1, capacity), home);
    }
  }
}

std::string Play(uint64_t seed, bool is_weak, uint32_t max_subgroups) {
  Random random(seed ^ 0x3a9d);
  const uint32_t num_shards = random.Between(1, 3);
  Counts blocks = {};
  for (uint32_t s = 0; s < num_shards; ++s) blocks[s] = random.Between(s == 0, 2);
  Counts owned = {};
  const uint32_t groups = random.Between(2, 3);
  std::vector<std::unique_ptr<Shared>> shared;
  for (uint32_t i = 0; i < groups; ++i) {
    shared.push_back(std::make_unique<Shared>());
    for (uint32_t s = 0; s < num_shards; ++s) {
      if (owned[s] == blocks[s] || !random.Percent(40)) continue;
      ++owned[s];
      ++shared[i]->mine[s];
    }
  }
  Scheduler scheduler({.seed = seed, .is_weak = is_weak, .max_steps = 60000});
  GateWorld world(scheduler, num_shards, blocks, owned);
  for (uint32_t i = 0; i < groups; ++i) {
    const uint64_t program = random.Next();
    const uint32_t subgroups = random.Between(1, max_subgroups);
    const uint32_t lanes = random.Between(1, 4 / subgroups);
    SpawnBlock(scheduler, subgroups, lanes, i, [&, i, program](SchedBlock& g) {
      Act(world, scheduler, g, *shared[i], program, Total(blocks));
    });
  }
  if (!scheduler.Run()) return scheduler.failure();
  const std::string wrong = world.CheckAtRest();
  return wrong.empty() ? wrong : wrong + "\n" + scheduler.Trace();
}

TEST(ExactGateWarpSched, WarpsGetLinearizableAnswersUnderAWeakMemory) {
  ForEachSeed(8000, [](uint64_t seed) { return Play(seed, true, 1); });
}

TEST(ExactGateWarpSched, BlocksGetLinearizableAnswersUnderAWeakMemory) {
  ForEachSeed(4000, [](uint64_t seed) { return Play(seed, true, 2); });
}

TEST(ExactGateWarpSched, AnswersAreLinearizableInTime) {
  ForEachSeed(4000, [](uint64_t seed) { return Play(seed, false, 2); });
}

}  // namespace
}  // namespace kvpage::test
