// SPDX-License-Identifier: Apache-2.0
//
// The gate with one thread; tests/sched has its concurrent part.

#include "kvpage/core/exact_gate.h"

#include <gtest/gtest.h>

#include <tuple>
#include <vector>

#include "kvpage/core/cpu_atomics.h"
#include "tests/support/printing.h"
#include "tests/support/random.h"

namespace kvpage {
namespace {

using Ref = ExactGateRef<CpuAtomics>;
using enum OpStatus;

class ExactGate : public testing::TestWithParam<uint32_t> {  // words between counters
 protected:
  using Part = std::tuple<uint32_t, uint32_t, uint32_t>;  // shard, count, offset

  explicit ExactGate(std::vector<uint64_t> blocks = {4, 3, 2})
      : words_(GateStorage::NumWords(3, GetParam()), 0xdead) {
    storage_ = {words_.data(), 3, GetParam(), 0};
    for (const uint64_t n : blocks) storage_.capacity += n;
    for (uint32_t s = 0; s < 3; ++s) gate().Init(s, blocks[s]);
  }

  Ref gate() const { return Ref(storage_); }
  OpStatus Take(uint64_t n, uint32_t home) {
    ThreadGroup thread;
    parts_.clear();
    return gate().Take(thread, n, home,
                       [&](ThreadGroup, uint32_t shard, uint32_t count, uint32_t offset) {
                         parts_.emplace_back(shard, count, offset);
                       });
  }
  std::vector<int64_t> Free() const {
    return {gate().FreeAtRest(0), gate().FreeAtRest(1), gate().FreeAtRest(2)};
  }

  GateStorage storage_;
  std::vector<uint64_t> words_;
  std::vector<Part> parts_;
};

using Parts = std::vector<std::tuple<uint32_t, uint32_t, uint32_t>>;
using Counts = std::vector<int64_t>;

TEST_P(ExactGate, TakesFromHomeFirst) {
  EXPECT_EQ(Take(2, 1), kOk);
  EXPECT_EQ(parts_, Parts({{1, 2, 0}}));
  EXPECT_EQ(Free(), Counts({4, 1, 2}));
}

TEST_P(ExactGate, TakesFromTheNextShardThatHasEnough) {
  EXPECT_EQ(Take(3, 2), kOk);
  EXPECT_EQ(parts_, Parts({{0, 3, 0}}));
  EXPECT_EQ(Take(3, 2), kOk);
  EXPECT_EQ(parts_, Parts({{1, 3, 0}}));
  EXPECT_EQ(Free(), Counts({1, 0, 2}));
}

TEST_P(ExactGate, GathersFromSeveralShards) {
  EXPECT_EQ(Take(8, 1), kOk);
  EXPECT_EQ(parts_, Parts({{0, 4, 0}, {1, 3, 4}, {2, 1, 7}}));
  EXPECT_EQ(Free(), Counts({0, 0, 1}));
}

TEST_P(ExactGate, FullIsExactAndLeavesNoTrace) {
  EXPECT_EQ(Take(8, 0), kOk);
  const std::vector<uint64_t> before = words_;
  EXPECT_EQ(Take(2, 0), kFull);
  EXPECT_TRUE(parts_.empty());
  EXPECT_EQ(words_, before);
  EXPECT_EQ(Take(1, 0), kOk);
  EXPECT_EQ(Take(1, 2), kFull);
}

TEST_P(ExactGate, MoreThanTheCapacityNeverFits) {
  EXPECT_EQ(Take(10, 0), kNeverFits);
  EXPECT_EQ(Take(~uint64_t{0}, 0), kNeverFits);
  EXPECT_EQ(Take(9, 0), kOk);
  EXPECT_EQ(Take(10, 0), kNeverFits);
}

TEST_P(ExactGate, NothingIsAlwaysFree) {
  EXPECT_EQ(Take(9, 0), kOk);
  EXPECT_EQ(Take(0, 0), kOk);
  EXPECT_TRUE(parts_.empty());
}

TEST_P(ExactGate, CreditMakesBlocksFreeAgain) {
  EXPECT_EQ(Take(9, 0), kOk);
  gate().Credit(1, 2);
  EXPECT_EQ(Free(), Counts({0, 2, 0}));
  EXPECT_EQ(Take(3, 0), kFull);
  EXPECT_EQ(Take(2, 0), kOk);
  EXPECT_EQ(parts_, Parts({{1, 2, 0}}));
}

TEST_P(ExactGate, BoundsAreExactAtRest) {
  EXPECT_EQ(Take(5, 0), kOk);
  EXPECT_EQ(gate().FreeBounds().lower, 4);
  EXPECT_EQ(gate().FreeBounds().upper, 4);
}

TEST_P(ExactGate, FreeAtRestSeesAnOpenRequestAndAHeldLock) {
  ThreadGroup thread;
  EXPECT_TRUE(gate().TryLock(thread));
  EXPECT_FALSE(gate().TryLock(thread));
  EXPECT_EQ(Free(), Counts({-1, -1, -1}));
  gate().Unlock(thread);
  EXPECT_EQ(Free(), Counts({4, 3, 2}));
  ++*gate().asked(1);
  EXPECT_EQ(Free(), Counts({4, -1, 2}));
}

// Counters only rise, and nothing may depend on how far.
TEST_P(ExactGate, CountersMayWrapRound) {
  for (uint32_t s = 0; s < 3; ++s) {
    const uint64_t far = ~uint64_t{0} - 2 - s;
    *gate().asked(s) += far;
    *gate().granted(s) += far;
    *gate().supply(s) += far;
  }
  EXPECT_EQ(Free(), Counts({4, 3, 2}));
  EXPECT_EQ(Take(9, 0), kOk);
  EXPECT_EQ(Take(1, 0), kFull);
  for (uint32_t s = 0; s < 3; ++s) gate().Credit(s, 3);
  EXPECT_EQ(Take(7, 2), kOk);
  EXPECT_EQ(Take(3, 1), kFull);
  EXPECT_EQ(Take(2, 1), kOk);
  EXPECT_EQ(Free(), Counts({0, 0, 0}));
}

TEST_P(ExactGate, RandomTakesAndCreditsAgreeWithAPlainCount) {
  test::Random random(GetParam());
  uint64_t free = 9;
  std::vector<uint64_t> owned(3, 0);
  for (int i = 0; i < 5000; ++i) {
    const uint32_t n = random.Between(1, 9);
    if (random.Percent(50)) {
      const OpStatus status = Take(n, random.Below(3));
      ASSERT_EQ(status, n <= free ? kOk : kFull);
      if (status != kOk) continue;
      uint32_t sum = 0;
      for (const auto& [shard, count, offset] : parts_) {
        EXPECT_EQ(offset, sum);
        owned[shard] += count;
        sum += count;
      }
      ASSERT_EQ(sum, n);
      free -= n;
    } else {
      const uint32_t shard = random.Below(3);
      const uint64_t back = owned[shard] < n ? owned[shard] : n;
      gate().Credit(shard, back);
      owned[shard] -= back;
      free += back;
    }
    ASSERT_EQ(Free(),
              Counts({4 - static_cast<int64_t>(owned[0]), 3 - static_cast<int64_t>(owned[1]),
                      2 - static_cast<int64_t>(owned[2])}));
  }
}

INSTANTIATE_TEST_SUITE_P(Strides, ExactGate, testing::Values(1u, 32u));

}  // namespace
}  // namespace kvpage
