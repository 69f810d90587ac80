// SPDX-License-Identifier: Apache-2.0
//
// The exact gate under the seeded scheduler: random small worlds, random programs, random
// schedules, a weak memory or sequential consistency. Whatever the actors are told must be
// linearizable against one atomic counter, and nothing may be left over at rest.

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/sched/gate_world.h"
#include "tests/support/test_seed.h"

namespace kvpage::test {
namespace {

struct Plan {
  uint32_t num_shards = 1;
  Counts blocks = {};
  std::vector<Counts> owned;    // by each actor before the first step
  uint32_t num_operations = 3;  // per actor, at most
  // With budgets, actor a never holds more than budgets[a]; their sum is the pool, so that a
  // request within the budget always finds its blocks and Full is always wrong.
  std::vector<uint32_t> budgets;
};

Plan MakePlan(Random& random) {
  Plan plan;
  plan.num_shards = random.Between(1, 3);
  do {
    plan.blocks = {};
    for (uint32_t s = 0; s < plan.num_shards; ++s) plan.blocks[s] = random.Below(3);
  } while (Total(plan.blocks) == 0 || Total(plan.blocks) > 4);
  const uint32_t actors = random.Between(2, 4 + random.Percent(25));
  plan.num_operations = random.Between(1, actors <= 3 ? 4 : 3);
  plan.owned.resize(actors);
  for (uint32_t s = 0; s < plan.num_shards; ++s) {
    for (uint32_t i = 0; i < plan.blocks[s]; ++i) {
      if (random.Percent(40)) ++plan.owned[random.Below(actors)][s];
    }
  }
  return plan;
}

Plan MakeBudgetPlan(Random& random) {
  Plan plan = MakePlan(random);
  for (Counts& owned : plan.owned) owned = {};
  plan.budgets.resize(plan.owned.size());
  for (uint32_t i = 0; i < Total(plan.blocks); ++i) {
    ++plan.budgets[random.Below(static_cast<uint32_t>(plan.budgets.size()))];
  }
  return plan;
}

// A few of the actor's blocks, at least one.
Counts PickSome(const Counts& mine, Random& random) {
  if (random.Percent(30)) return mine;
  Counts some = {};
  do {
    for (uint32_t s = 0; s < mine.size(); ++s) some[s] = random.Below(mine[s] + 1);
  } while (Total(some) == 0);
  return some;
}

void Act(GateWorld& world, Scheduler& scheduler, const Plan& plan, uint32_t actor, uint64_t seed) {
  Random random(seed);
  Counts mine = plan.owned[actor];
  const bool releases_first = random.Percent(50);
  const uint32_t home = random.Below(plan.num_shards);
  for (uint32_t i = 0; i < plan.num_operations; ++i) {
    const bool may_release = Total(mine) > 0;
    if (may_release && ((i == 0 && releases_first) || random.Percent(45))) {
      world.Release(PickSome(mine, random), mine);
    } else if (random.Percent(5)) {
      world.Count();
    } else if (plan.budgets.empty()) {
      world.Reserve(random.Between(1, Total(plan.blocks) + random.Percent(3)), home, mine);
    } else if (const uint32_t left = plan.budgets[actor] - Total(mine); left > 0) {
      if (!world.Reserve(random.Between(1, left), home, mine)) {
        scheduler.Fail("Full within the budget");
      }
    }
  }
}

// Plays the plan that the seed makes; returns what went wrong.
std::string Play(uint64_t seed, Scheduler::Turns turns, bool is_weak,
                 const std::function<Plan(Random&)>& make) {
  Random random(seed ^ 0x6a7e);
  const Plan plan = make(random);
  Counts owned = {};
  for (const Counts& one : plan.owned) {
    for (uint32_t s = 0; s < one.size(); ++s) owned[s] += one[s];
  }
  Scheduler scheduler({.seed = seed, .turns = turns, .is_weak = is_weak});
  GateWorld world(scheduler, plan.num_shards, plan.blocks, owned);
  for (uint32_t a = 0; a < plan.owned.size(); ++a) {
    const uint64_t program = random.Next();
    scheduler.Spawn([&, a, program] { Act(world, scheduler, plan, a, program); });
  }
  if (!scheduler.Run()) return scheduler.failure();
  const std::string wrong = world.CheckAtRest();
  return wrong.empty() ? wrong : wrong + "\n" + scheduler.Trace();
}

TEST(ExactGateSched, AnswersAreLinearizableUnderAWeakMemory) {
  ForEachSeed(60000,
              [](uint64_t seed) { return Play(seed, Scheduler::Turns::kRandom, true, MakePlan); });
}

TEST(ExactGateSched, AnswersAreLinearizableInTime) {
  ForEachSeed(40000,
              [](uint64_t seed) { return Play(seed, Scheduler::Turns::kRandom, false, MakePlan); });
}

TEST(ExactGateSched, FullIsNeverAnsweredWithinABudget) {
  ForEachSeed(20000, [](uint64_t seed) {
    return Play(seed, Scheduler::Turns::kRandom, seed % 2 == 0, MakeBudgetPlan);
  });
}

TEST(ExactGateSched, NoFairScheduleKeepsActorsBusyForEver) {
  ForEachSeed(30000, [](uint64_t seed) {
    return Play(seed, Scheduler::Turns::kLooped, false, seed % 2 == 0 ? MakePlan : MakeBudgetPlan);
  });
}

// While one request is still claiming its blocks, a gatherer of two holds the only other block and
// waits. It must not let go of it meanwhile: two requests that did so could starve each other for
// ever under a fair schedule.
std::string PlayGatherer(uint64_t seed) {
  Random random(seed ^ 0x9a7);
  Scheduler scheduler({.seed = seed, .is_weak = false});
  const Counts blocks = {1, 1, 0};
  GateWorld world(scheduler, 2, blocks, {});
  bool is_claiming = false;
  const uint32_t delay = random.Between(30, 150);
  scheduler.Spawn([&] {
    ThreadGroup me;
    world.gate().Take(me, 1, 1, [&](auto&&, uint32_t shard, uint32_t, uint32_t) {
      is_claiming = shard == 1;
      for (uint32_t i = 0; i < delay; ++i) SchedAtomics::Pause(i);
      is_claiming = false;
    });
  });
  scheduler.Spawn([&] {
    Counts mine = {};
    world.Reserve(2, 0, mine);
  });
  scheduler.Spawn([&] {
    ThreadGroup me;
    const auto is_gathered = [&] {
      return SchedAtomics::LoadRelaxed(world.gate().lock()) != 0 &&
             SchedAtomics::LoadRelaxed(world.gate().asked(0)) != 0;
    };
    for (uint32_t i = 0; !is_gathered(); ++i) {
      if (i == 100) return;
      SchedAtomics::Pause(i);
    }
    world.gate().Take(me, 1, 0, [&](auto&&, uint32_t shard, uint32_t, uint32_t) {
      if (shard == 0 && is_claiming) scheduler.Fail("the gatherer let go of its hand");
    });
  });
  return scheduler.Run() ? "" : scheduler.failure();
}

TEST(ExactGateSched, AGathererKeepsItsHand) { ForEachSeed(10000, PlayGatherer); }

}  // namespace
}  // namespace kvpage::test
