// SPDX-License-Identifier: Apache-2.0
//
// The seeded scheduler: runs repeat, nobody starves, and what does not end is reported with a seed
// that replays it.

#include "tests/support/scheduler.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "tests/support/sched_atomics.h"

namespace kvpage::test {
namespace {

constexpr uint32_t kSeeds = 400;

TEST(Scheduler, EqualSeedsGiveEqualRuns) {
  const auto run = [](uint64_t seed) {
    uint64_t word = 0;
    std::string order;
    Scheduler scheduler({.seed = seed});
    for (char t = 'a'; t < 'd'; ++t) {
      scheduler.Spawn([&, t] {
        for (int i = 0; i < 6; ++i) {
          SchedAtomics::AddRelaxed(&word, uint64_t{1});
          order += t;
        }
      });
    }
    EXPECT_TRUE(scheduler.Run());
    return order;
  };
  uint32_t different = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    EXPECT_EQ(run(seed), run(seed));
    if (run(seed) != run(seed + 1)) ++different;
  }
  EXPECT_GT(different, 5u);
}

TEST(Scheduler, WaitingForeverIsALivelock) {
  uint32_t never = 0;
  for (const Scheduler::Turns turns : {Scheduler::Turns::kRandom, Scheduler::Turns::kLooped}) {
    Scheduler scheduler({.seed = 3, .turns = turns, .max_steps = 500});
    for (int t = 0; t < 2; ++t) {
      scheduler.Spawn([&] {
        for (uint32_t i = 0; SchedAtomics::LoadRelaxed(&never) == 0; ++i) SchedAtomics::Pause(i);
      });
    }
    EXPECT_FALSE(scheduler.Run());
    EXPECT_NE(scheduler.failure().find("livelock"), std::string::npos) << scheduler.failure();
    EXPECT_NE(scheduler.failure().find("seed 3"), std::string::npos) << scheduler.failure();
  }
}

TEST(Scheduler, SleepingForeverIsADeadlock) {
  Scheduler scheduler({.seed = 1});
  scheduler.Spawn([&] { scheduler.Sleep(); });
  scheduler.Spawn([&] { scheduler.Sleep(); });
  EXPECT_FALSE(scheduler.Run());
  EXPECT_NE(scheduler.failure().find("deadlock"), std::string::npos) << scheduler.failure();
}

TEST(Scheduler, NobodyStarvesEvenUnderSpinningWithoutPause) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    uint32_t flag = 0;
    Scheduler scheduler({.seed = seed});
    for (int t = 0; t < 3; ++t) {
      scheduler.Spawn([&] {
        while (SchedAtomics::LoadRelaxed(&flag) == 0) {
        }
      });
    }
    scheduler.Spawn([&] { SchedAtomics::StoreRelaxed(&flag, 1u); });
    ASSERT_TRUE(scheduler.Run()) << scheduler.failure();
  }
}

TEST(Scheduler, ASoloThreadGoesOnAlone) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    uint64_t word = 0;
    bool is_alone = false;
    Scheduler scheduler({.seed = seed, .is_weak = false});
    scheduler.Spawn([&] {
      scheduler.SetSolo(true);
      const uint64_t before = SchedAtomics::LoadRelaxed(&word);
      for (uint32_t i = 0; i < 5; ++i) SchedAtomics::Pause(i);
      is_alone = SchedAtomics::LoadRelaxed(&word) == before;
      scheduler.SetSolo(false);
    });
    scheduler.Spawn([&] {
      for (int i = 0; i < 20; ++i) SchedAtomics::AddRelaxed(&word, uint64_t{1});
    });
    ASSERT_TRUE(scheduler.Run()) << scheduler.failure();
    EXPECT_TRUE(is_alone);
  }
}

// Two polite threads that step back for each other: a fair schedule can keep them busy for ever,
// though a coin nearly always parts them.
TEST(Scheduler, LoopedTurnsFindAFairLivelock) {
  uint32_t failures = 0;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    uint32_t wants[2] = {0, 0};
    Scheduler scheduler(
        {.seed = seed, .turns = Scheduler::Turns::kLooped, .is_weak = false, .max_steps = 2000});
    for (int t = 0; t < 2; ++t) {
      scheduler.Spawn([&wants, t] {
        while (true) {
          SchedAtomics::StoreRelaxed(&wants[t], 1u);
          if (SchedAtomics::LoadRelaxed(&wants[1 - t]) == 0) break;
          SchedAtomics::StoreRelaxed(&wants[t], 0u);
        }
        SchedAtomics::StoreRelaxed(&wants[t], 0u);
      });
    }
    if (!scheduler.Run()) ++failures;
  }
  EXPECT_GT(failures, 0u);
}

}  // namespace
}  // namespace kvpage::test
