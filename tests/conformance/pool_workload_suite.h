// SPDX-License-Identifier: Apache-2.0
//
// tests/conformance/pool_workload_suite.h
//
// The tests of a pool under contention, for every kind of group: threads, emulated warps, and on a
// GPU threads, coalesced groups, warps and thread blocks. See workload_world.h for what a Backend
// is; Backend::kRounds says how much it can do in a test's time.

#ifndef KVPAGE_TESTS_CONFORMANCE_POOL_WORKLOAD_SUITE_H_
#define KVPAGE_TESTS_CONFORMANCE_POOL_WORKLOAD_SUITE_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "tests/conformance/budget_workloads.h"
#include "tests/conformance/pool_workloads.h"
#include "tests/conformance/workload_world.h"

namespace kvpage::test {

inline constexpr uint32_t kShardCounts[] = {1, 2, 3, 64};

// Calls test(shape, shards, lanes) for every shape and number of shards.
template <class Backend, class Test>
void ForEachShape(Test test) {
  for (const auto& shape : Backend::Shapes()) {
    for (const uint32_t shards : kShardCounts) {
      test(shape, shards, shape.units * Backend::LanesPerUnit(shape));
    }
  }
}

template <class Backend>
class PoolUnderContention : public testing::Test {};

TYPED_TEST_SUITE_P(PoolUnderContention);

TYPED_TEST_P(PoolUnderContention, ChurnNeverHandsABlockToTwo) {
  using World = WorkloadWorld<TypeParam>;
  using Site = typename World::Site;
  ForEachShape<TypeParam>([](const auto& shape, uint32_t shards, uint32_t lanes) {
    // From a pool that is nearly always full to one that seldom is.
    for (const uint32_t blocks : {lanes / 2 + 1, lanes * 2 + 7, lanes * 8}) {
      World world(shape, PoolOf(blocks, shards), 6);
      world.Run(Churn<Site>{
          .site = world.site(), .rounds = TypeParam::kRounds, .most_per_lane = 3, .seed = blocks});
      EXPECT_EQ(world.CheckAtRest(0), "");
      EXPECT_GT(world.FindingsSoFar().taken, 0u);
    }
  });
}

TYPED_TEST_P(PoolUnderContention, NobodyWithinBudgetIsToldFull) {
  using World = WorkloadWorld<TypeParam>;
  using Site = typename World::Site;
  ForEachShape<TypeParam>([](const auto& shape, uint32_t shards, uint32_t lanes) {
    constexpr uint32_t kPerLane = 5;
    constexpr uint32_t kHeld = 3;
    const uint32_t unit_lanes = TypeParam::LanesPerUnit(shape);
    const uint32_t gatherers = shape.units / 4;
    const uint32_t greedy = shape.units / 4;
    const uint32_t modest = shape.units - gatherers - greedy;
    const uint32_t blocks = kHeld + unit_lanes * (modest + gatherers * kPerLane);
    World world(shape, PoolOf(blocks, shards), kPerLane);
    world.RunOne(
        Hold<Site>{.site = world.site(), .blocks = kHeld, .references = 1, .leave = false});
    world.Run(Budgets<Site>{.site = world.site(),
                            .rounds = TypeParam::kRounds * 2,
                            .gatherers = gatherers,
                            .gather_per_lane = kPerLane,
                            .greedy = greedy,
                            .impossible = blocks - kHeld + 1});
    EXPECT_EQ(world.CheckAtRest(kHeld), "");
    EXPECT_EQ(world.FindingsSoFar().full, 0u) << blocks << " blocks, " << lanes << " lanes";
  });
}

TYPED_TEST_P(PoolUnderContention, NobodyWithinBudgetIsToldFullBesideVainGatherers) {
  using World = WorkloadWorld<TypeParam>;
  using Site = typename World::Site;
  ForEachShape<TypeParam>([](const auto& shape, uint32_t shards, uint32_t lanes) {
    const uint32_t greedy = std::min(shape.units / 4, 64u);  // they gather one by one
    const uint32_t rotators = lanes - greedy * TypeParam::LanesPerUnit(shape);
    // A small pool gets more blocks, so that it has its shards; but they are held all the time.
    const uint32_t rest = std::min(shards * 64, 4096u);
    const uint32_t blocks = 2 * rotators + (2 * rotators < rest ? rest - 2 * rotators : 0);
    const uint32_t held = blocks - 2 * rotators;
    World world(shape, PoolOf(blocks, shards), 1);
    if (held > 0) {
      world.RunOne(
          Hold<Site>{.site = world.site(), .blocks = blocks, .references = 1, .leave = true});
      world.RunOne(LetGo<Site>{.site = world.site(), .held = blocks, .count = 2 * rotators});
    }
    for (const auto phase :
         {RotatePhase::kTakeFirst, RotatePhase::kRotate, RotatePhase::kGiveBack}) {
      world.Run(Rotate<Site>{.site = world.site(),
                             .phase = phase,
                             .rounds = TypeParam::kRounds * 2,
                             .greedy = greedy,
                             .impossible = rotators + 1});
    }
    EXPECT_EQ(world.CheckAtRest(held), "");
    EXPECT_EQ(world.FindingsSoFar().full, 0u) << blocks << " blocks, " << lanes << " lanes";
  });
}

TYPED_TEST_P(PoolUnderContention, TwiceAsManyLanesGetExactlyTheCapacity) {
  using World = WorkloadWorld<TypeParam>;
  using Site = typename World::Site;
  ForEachShape<TypeParam>([](const auto& shape, uint32_t shards, uint32_t lanes) {
    if (lanes < 2) return;
    using Take = Exhaust<Site>;
    const uint32_t blocks = lanes / 2;
    World world(shape, PoolOf(blocks, shards), 0);
    world.Run(Take{.site = world.site(), .per_lane = 0});
    EXPECT_EQ(world.CheckAtRest(blocks), "");
    EXPECT_EQ(world.FindingsSoFar().full, lanes - blocks);
  });
}

TYPED_TEST_P(PoolUnderContention, GroupsThatAskForTooMuchGetAllThatFits) {
  using World = WorkloadWorld<TypeParam>;
  using Site = typename World::Site;
  ForEachShape<TypeParam>([](const auto& shape, uint32_t shards, uint32_t) {
    using Take = Exhaust<Site>;
    constexpr uint32_t kPerLane = 3;
    const uint32_t unit_blocks = kPerLane * TypeParam::LanesPerUnit(shape);
    if (shape.units < 2) return;
    // Once it comes out even, once it does not.
    for (const uint32_t extra : {0u, 1u, unit_blocks - 1}) {
      const uint32_t blocks = shape.units / 2 * unit_blocks + extra;
      World world(shape, PoolOf(blocks, shards), kPerLane);
      world.Run(Take{.site = world.site(), .per_lane = kPerLane});
      const Findings found = world.FindingsSoFar();
      EXPECT_EQ(world.CheckAtRest(found.taken), "");
      // A request that was told Full would not fit now either, since nobody gave anything back.
      EXPECT_GT(found.full, 0u);
      EXPECT_LT(blocks - found.taken, found.least_full);
      EXPECT_LT(blocks - found.taken, unit_blocks);
    }
  });
}

TYPED_TEST_P(PoolUnderContention, SharersReadUntilTheLastOneLetsGo) {
  using World = WorkloadWorld<TypeParam>;
  using Site = typename World::Site;
  ForEachShape<TypeParam>([](const auto& shape, uint32_t shards, uint32_t lanes) {
    const uint32_t shared = std::gcd(lanes, 32u);
    const uint32_t blocks = shared + 1;  // so that takers soon get one that was shared
    World world(shape, PoolOf(blocks, shards), 0);
    world.RunOne(Hold<Site>{
        .site = world.site(), .blocks = shared, .references = lanes / shared, .leave = true});
    world.Run(SharersAndTakers<Site>{.site = world.site(),
                                     .shared = world.site().ids,
                                     .num_shared = shared,
                                     .takers = shape.units / 2,
                                     .tries = TypeParam::kRounds});
    EXPECT_EQ(world.CheckAtRest(0), "");
  });
}

TYPED_TEST_P(PoolUnderContention, GivingBackTooOftenIsToldToEveryoneButTheHolders) {
  using World = WorkloadWorld<TypeParam>;
  using Site = typename World::Site;
  ForEachShape<TypeParam>([](const auto& shape, uint32_t shards, uint32_t lanes) {
    for (const uint32_t references : {1u, 2u, std::min(lanes / 2, 100000u)}) {
      if (references == 0 || references > lanes) continue;
      for (const bool with_handle : {false, true}) {
        // By handle it is a compare-and-swap loop, which is not made for a crowd of holders.
        if (with_handle && references > 256) continue;
        World world(shape, PoolOf(100, shards), 0);
        world.RunOne(
            Hold<Site>{.site = world.site(), .blocks = 1, .references = references, .leave = true});
        for (const bool is_free : {false, true}) {
          world.Run(GiveBackTooOften<Site>{
              .site = world.site(), .with_handle = with_handle, .is_free = is_free});
          EXPECT_EQ(world.FindingsSoFar().told_ok, references);
          EXPECT_EQ(world.CheckAtRest(0), "");
        }
      }
    }
  });
}

REGISTER_TYPED_TEST_SUITE_P(PoolUnderContention, ChurnNeverHandsABlockToTwo,
                            NobodyWithinBudgetIsToldFull,
                            NobodyWithinBudgetIsToldFullBesideVainGatherers,
                            TwiceAsManyLanesGetExactlyTheCapacity,
                            GroupsThatAskForTooMuchGetAllThatFits, SharersReadUntilTheLastOneLetsGo,
                            GivingBackTooOftenIsToldToEveryoneButTheHolders);

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_CONFORMANCE_POOL_WORKLOAD_SUITE_H_
