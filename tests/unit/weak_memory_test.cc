// SPDX-License-Identifier: Apache-2.0
//
// The weak memory of the seeded scheduler and its checked variables: what must be seen sometimes is
// seen, what must never be seen is not.

#include "tests/support/weak_memory.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "tests/support/sched_atomics.h"
#include "tests/support/sched_data.h"
#include "tests/support/scheduler.h"

namespace kvpage::test {
namespace {

constexpr uint32_t kSeeds = 400;

// Runs make(scheduler), which spawns the threads, for many seeds; returns how many failed.
template <class Make>
uint32_t CountFailures(bool is_weak, Make make, std::string* example = nullptr) {
  uint32_t failures = 0;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    Scheduler scheduler({.seed = seed, .is_weak = is_weak});
    make(scheduler);
    if (scheduler.Run()) continue;
    ++failures;
    if (example != nullptr) *example = scheduler.failure();
  }
  return failures;
}

// The classic: data, then a flag; the reader that saw the flag must see the data.
struct MessagePassing {
  bool has_release_fence;
  bool has_acquire_fence;
  uint64_t data = 0;
  uint64_t flag = 0;
  uint64_t relay = 0;

  void Spawn(Scheduler& scheduler) {
    data = flag = 0;
    scheduler.Spawn([this] {
      SchedAtomics::AddRelaxed(&data, uint64_t{1});
      if (has_release_fence) SchedAtomics::FenceAcqRel();
      SchedAtomics::AddRelaxed(&flag, uint64_t{1});
    });
    scheduler.Spawn([this, &scheduler] {
      const uint64_t seen = SchedAtomics::LoadRelaxed(&flag);
      if (has_acquire_fence) SchedAtomics::FenceAcqRel();
      if (seen == 1 && SchedAtomics::LoadRelaxed(&data) == 0) scheduler.Fail("flag without data");
    });
  }
};

TEST(WeakMemory, MessagePassingNeedsBothFences) {
  for (const bool release : {false, true}) {
    for (const bool acquire : {false, true}) {
      MessagePassing test{release, acquire};
      const uint32_t failures = CountFailures(true, [&](Scheduler& s) { test.Spawn(s); });
      EXPECT_EQ(failures == 0, release && acquire) << release << acquire << ": " << failures;
    }
  }
}

TEST(WeakMemory, MessagePassingNeedsNoFenceUnderSequentialConsistency) {
  MessagePassing test{false, false};
  EXPECT_EQ(CountFailures(false, [&](Scheduler& s) { test.Spawn(s); }), 0u);
}

TEST(WeakMemory, StoreBufferingIsSeenEvenWithFences) {
  uint64_t x = 0;
  uint64_t y = 0;
  uint64_t seen_x = 0;
  uint64_t seen_y = 0;
  uint32_t both_old = 0;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    x = y = 0;
    Scheduler scheduler({.seed = seed});
    scheduler.Spawn([&] {
      SchedAtomics::StoreRelaxed(&x, uint64_t{1});
      SchedAtomics::FenceAcqRel();
      seen_y = SchedAtomics::LoadRelaxed(&y);
    });
    scheduler.Spawn([&] {
      SchedAtomics::StoreRelaxed(&y, uint64_t{1});
      SchedAtomics::FenceAcqRel();
      seen_x = SchedAtomics::LoadRelaxed(&x);
    });
    ASSERT_TRUE(scheduler.Run()) << scheduler.failure();
    if (seen_x == 0 && seen_y == 0) ++both_old;
  }
  EXPECT_GT(both_old, 0u);
  EXPECT_LT(both_old, kSeeds);
}

TEST(WeakMemory, ReleaseAndAcquireVerbsNeedNoFence) {
  uint64_t data = 0;
  uint32_t flag = 0;
  EXPECT_EQ(CountFailures(true,
                          [&](Scheduler& scheduler) {
                            data = flag = 0;
                            scheduler.Spawn([&] {
                              SchedAtomics::StoreRelaxed(&data, uint64_t{1});
                              SchedAtomics::OrRelease(&flag, 1u);
                            });
                            scheduler.Spawn([&] {
                              if (SchedAtomics::FetchAndAcquire(&flag, ~0u) == 1 &&
                                  SchedAtomics::LoadRelaxed(&data) == 0) {
                                scheduler.Fail("flag without data");
                              }
                            });
                          }),
            0u);
}

// A verb without a result reads nothing that the fence after it could acquire.
TEST(WeakMemory, OnlyVerbsWithAResultAcquire) {
  enum Verb { kFetchAdd, kAdd, kOrRelease };
  for (const Verb verb : {kFetchAdd, kAdd, kOrRelease}) {
    uint64_t data = 0;
    uint64_t flag = 0;
    const uint32_t failures = CountFailures(true, [&](Scheduler& scheduler) {
      data = flag = 0;
      scheduler.Spawn([&] {
        SchedAtomics::StoreRelaxed(&data, uint64_t{1});
        SchedAtomics::StoreRelease(&flag, uint64_t{1});
      });
      scheduler.Spawn([&] {
        if (verb == kFetchAdd) SchedAtomics::FetchAddRelaxed(&flag, uint64_t{2});
        if (verb == kAdd) SchedAtomics::AddRelaxed(&flag, uint64_t{2});
        if (verb == kOrRelease) SchedAtomics::OrRelease(&flag, uint64_t{2});
        SchedAtomics::FenceAcqRel();
        const bool came_second = flag == 3;  // the word itself, as nobody writes to it any more
        if (came_second && SchedAtomics::LoadRelaxed(&data) == 0) scheduler.Fail("no data");
      });
    });
    EXPECT_EQ(failures == 0, verb == kFetchAdd) << verb << ": " << failures;
  }
}

TEST(WeakMemory, ReadModifyWritesContinueAReleaseSequenceAndStoresEndIt) {
  for (const bool relay_by_store : {false, true}) {
    uint64_t data = 0;
    uint64_t flag = 0;
    const uint32_t failures = CountFailures(true, [&](Scheduler& scheduler) {
      data = flag = 0;
      scheduler.Spawn([&] {
        SchedAtomics::StoreRelaxed(&data, uint64_t{1});
        SchedAtomics::StoreRelease(&flag, uint64_t{1});
      });
      scheduler.Spawn([&] {
        if (SchedAtomics::LoadRelaxed(&flag) != 1) return;
        if (relay_by_store) {
          SchedAtomics::StoreRelaxed(&flag, uint64_t{2});
        } else {
          SchedAtomics::FetchAddRelaxed(&flag, uint64_t{1});
        }
      });
      scheduler.Spawn([&] {
        if (SchedAtomics::LoadAcquire(&flag) == 2 && SchedAtomics::LoadRelaxed(&data) == 0) {
          scheduler.Fail("flag without data");
        }
      });
    });
    EXPECT_EQ(failures > 0, relay_by_store) << failures;
  }
}

TEST(WeakMemory, OneWordIsReadInOrderAndCountedExactly) {
  uint64_t word = 0;
  EXPECT_EQ(CountFailures(true,
                          [&](Scheduler& scheduler) {
                            word = 0;
                            for (int t = 0; t < 3; ++t) {
                              scheduler.Spawn([&] {
                                uint64_t last = 0;
                                for (int i = 0; i < 4; ++i) {
                                  SchedAtomics::AddRelaxed(&word, uint64_t{1});
                                  const uint64_t now = SchedAtomics::LoadRelaxed(&word);
                                  if (now <= last) scheduler.Fail("read backwards");
                                  last = now;
                                }
                              });
                            }
                          }),
            0u);
  EXPECT_EQ(word, 12u);
}

TEST(WeakMemory, AFailedCompareExchangeReportsAnotherValue) {
  uint32_t word = 0;
  EXPECT_EQ(
      CountFailures(true,
                    [&](Scheduler& scheduler) {
                      word = 0;
                      for (int t = 0; t < 3; ++t) {
                        scheduler.Spawn([&] {
                          uint32_t expected = 0;
                          while (true) {
                            const uint32_t wanted = expected;
                            if (SchedAtomics::CompareExchangeRelaxed(&word, expected, wanted + 1)) {
                              return;
                            }
                            if (expected == wanted) scheduler.Fail("failed on equal value");
                          }
                        });
                      }
                    }),
      0u);
  EXPECT_EQ(word, 3u);
}

struct DataHandOver {
  bool has_release_fence;
  bool has_acquire_fence;

  void Spawn(Scheduler& scheduler) {
    flag = 0;
    data = SchedData<int>(0);
    scheduler.Spawn([this] {
      data.Write(1);
      if (has_release_fence) SchedAtomics::FenceAcqRel();
      SchedAtomics::StoreRelaxed(&flag, 1u);
    });
    scheduler.Spawn([this] {
      if (SchedAtomics::LoadRelaxed(&flag) == 0) return;
      if (has_acquire_fence) SchedAtomics::FenceAcqRel();
      data.Write(data.Read() + 1);
    });
  }

  uint32_t flag = 0;
  SchedData<int> data{};
};

TEST(SchedData, AHandOverWithoutFencesIsADataRace) {
  for (const bool release : {false, true}) {
    for (const bool acquire : {false, true}) {
      DataHandOver test{release, acquire};
      // Even where every load returns the newest value, the race is a race.
      for (const bool is_weak : {false, true}) {
        std::string example;
        const uint32_t failures = CountFailures(
            is_weak, [&](Scheduler& s) { test.Spawn(s); }, &example);
        EXPECT_EQ(failures == 0, release && acquire) << example;
        if (failures > 0) {
          EXPECT_NE(example.find("data race"), std::string::npos) << example;
        }
      }
    }
  }
}

TEST(SchedData, AWriteWhileAnotherReadsIsADataRace) {
  SchedData<int> data(5);
  std::string example;
  EXPECT_EQ(CountFailures(
                true,
                [&](Scheduler& scheduler) {
                  data = SchedData<int>(5);
                  scheduler.Spawn([&] { data.Read(); });
                  scheduler.Spawn([&] { data.Read(); });
                },
                &example),
            0u);
  EXPECT_GT(CountFailures(
                true,
                [&](Scheduler& scheduler) {
                  data = SchedData<int>(5);
                  scheduler.Spawn([&] { data.Read(); });
                  scheduler.Spawn([&] { data.Write(6); });
                },
                &example),
            0u);
  EXPECT_NE(example.find("data race"), std::string::npos) << example;
}

}  // namespace
}  // namespace kvpage::test
