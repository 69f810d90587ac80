// SPDX-License-Identifier: Apache-2.0
//
// tests/conformance/fence_suite.h
//
// Fences: blocks that are let go under an epoch become free when it has completed, not before.

#ifndef KVPAGE_TESTS_CONFORMANCE_FENCE_SUITE_H_
#define KVPAGE_TESTS_CONFORMANCE_FENCE_SUITE_H_

#include <utility>

#include "tests/conformance/copy_on_write_suite.h"
#include "tests/conformance/fixture.h"

namespace kvpage::test {

template <class Backend>
class Fences : public ConformanceTest<Backend> {};

TYPED_TEST_SUITE_P(Fences);

inline KvCacheOptions WithSets(uint32_t pending_sets) {
  KvCacheOptions options = kWithDrafts;
  options.pending_sets = pending_sets;
  return options;
}

TYPED_TEST_P(Fences, EveryOperationThatLetsBlocksGoHeedsThem) {
  CacheDriver d = this->Make(kWithDrafts);
  const RowSettings fence = {.fence = 1};
  ShareATail(d, 6);
  d.Append({2, 3, 4, 5}, {24, 8, 6, 6});
  d.BeginDraft({4, 5}, {5, 5}, {1, 3});
  d.Share({3});
  ExpectSound(d, 100 - 2 - 12 - 1 - 6);
  // The last reference to block 2 goes with the second copy.
  d.Append({0, 1}, {1, 1}, fence);
  ExpectSound(d, 77, 1);
  EXPECT_EQ(d.Truncate({2}, {16}, fence), Statuses({kOk}));
  ExpectSound(d, 77, 3);
  EXPECT_EQ(d.Close({3}, fence), Statuses({kOk}));
  ExpectSound(d, 77, 5);
  EXPECT_EQ(d.CommitDraft({4}, {1}, {}, fence), Statuses({kOk}));
  ExpectSound(d, 77, 6);
  EXPECT_EQ(d.AbortDraft({5}, fence), Statuses({kOk}));
  ExpectSound(d, 77, 12);
  EXPECT_EQ(d.Truncate({2}, {0}, fence), Statuses({kOk}));
  EXPECT_EQ(d.Release({3}, {.fence = 1}), Statuses({kOk}));
  ExpectSound(d, 77, 16);
  d.Signal(1);
  d.Poll();
  ExpectSound(d, 93);
}

TYPED_TEST_P(Fences, CommitLetsTheReplacedTailGoUnderThem) {
  CacheDriver d = this->Make(kWithDrafts);
  d.Append({0}, {6});
  d.BeginDraft({0}, {2}, {2});
  EXPECT_EQ(d.CommitDraft({0}, {1}, {1}, {.fence = 4}), Statuses({kOk}));
  ExpectSound(d, 96, 2);
  EXPECT_EQ(d.Snapshot().blocks[1].waits_for, 4u);
  EXPECT_EQ(d.Snapshot().blocks[2].waits_for, 4u);
}

TYPED_TEST_P(Fences, OfNoEpochOrOneThatHasCompletedHoldNothing) {
  CacheDriver d = this->Make(kWithDrafts);
  d.Append({0, 1, 2}, {4, 4, 4});
  d.Signal(5);
  d.Close({0}, {.fence = 5});
  d.Close({1}, {.fence = 2, .fence_in_memory = true});
  d.Close({2}, {.fence = 0, .fence_in_memory = true});
  ExpectSound(d, 100);
}

TYPED_TEST_P(Fences, CompletingAnEpochCompletesThoseBeforeIt) {
  CacheDriver d = this->Make(kWithDrafts);
  d.Append({0, 1, 2}, {4, 8, 12});
  d.Close({1}, {.fence = 2});
  d.Close({0}, {.fence = 1, .fence_in_memory = true});
  d.Close({2}, {.fence = 3});
  ExpectSound(d, 94, 6);
  d.Signal(2);
  d.Poll();
  ExpectSound(d, 97, 3);
  d.Signal(1);  // late: nothing new
  d.Poll();
  ExpectSound(d, 97, 3);
  d.Signal(7);
  d.Poll();
  ExpectSound(d, 100);
  EXPECT_EQ(d.Snapshot().completed, 7u);
}

TYPED_TEST_P(Fences, MoreEpochsThanSetsFreeLateAndNeverEarly) {
  for (uint32_t sets = 2; sets <= 4; ++sets) {
    CacheDriver d = this->Make(WithSets(sets));
    d.Append({0, 1, 2, 3, 4}, {4, 4, 4, 4, 4});
    for (const int32_t row : {2, 0, 4, 3, 1}) {
      d.Close({row}, {.fence = static_cast<uint64_t>(row + 1)});
    }
    ExpectSound(d, 95, 5);
    uint64_t free_before = 0;
    for (uint64_t epoch = 1; epoch <= 5; ++epoch) {
      d.Signal(epoch);
      d.Poll();
      const AuditReport report = d.Audit();
      EXPECT_TRUE(report.ok());
      EXPECT_LE(report.free_blocks, 95 + epoch);
      EXPECT_GE(report.free_blocks, free_before);
      free_before = report.free_blocks;
      const CacheSnapshot snapshot = d.Snapshot();
      for (uint64_t later = epoch + 1; later <= 5; ++later) {
        EXPECT_GE(snapshot.blocks[later - 1].waits_for, later) << sets << " sets";
      }
    }
    ExpectSound(d, 100);
  }
}

TYPED_TEST_P(Fences, AnEpochWithoutASetJoinsTheNextYoungerOne) {
  CacheDriver d = this->Make(WithSets(2));
  d.Append({0, 1, 2, 3}, {4, 4, 4, 4});
  d.Close({0}, {.fence = 5});
  d.Close({1}, {.fence = 8});
  d.Close({2}, {.fence = 6});  // waits for 8
  d.Close({3}, {.fence = 9});  // and now all of them but the first for 9
  const CacheSnapshot snapshot = d.Snapshot();
  EXPECT_EQ(snapshot.blocks[0].waits_for, 5u);
  EXPECT_EQ(snapshot.blocks[1].waits_for, 9u);
  EXPECT_EQ(snapshot.blocks[2].waits_for, 9u);
  EXPECT_EQ(snapshot.blocks[3].waits_for, 9u);
}

TYPED_TEST_P(Fences, WhoWantsBlocksNeedsNoPoll) {
  CacheDriver d = this->Make(WithSets(4));
  d.Append({0}, {24});
  d.Close({0}, {.fence = 1});
  d.Signal(1);
  ExpectSound(d, 94, 6);
  EXPECT_EQ(d.Append({1}, {4}, {.slot_capacity = 4}).slots, Slots({4, 5, 6, 7}));
  ExpectSound(d, 99);
  d.Close({1}, {.fence = 2});
  d.Signal(2);
  d.Append({2}, {6});
  EXPECT_EQ(d.Row(2), Ids({1, 2}));
  d.Append({3}, {4});
  d.Close({3}, {.fence = 3});
  d.Signal(3);
  EXPECT_EQ(d.BeginDraft({2}, {3}, {}, {.slot_capacity = 3}).slots, Slots({10, 11, 12}));
  d.Append({4}, {4});
  d.Close({4}, {.fence = 4});
  d.Signal(4);
  EXPECT_EQ(d.Fork({5}, {2}, {5}).copies, Copies({{2, 4, 1}}));
  ExpectSound(d, 96);
}

TYPED_TEST_P(Fences, WhoWantsNoBlocksLeavesThemPending) {
  CacheDriver d = this->Make(kWithDrafts);
  d.Append({0, 1}, {4, 1});
  d.Reserve({1}, {24});
  d.Close({0}, {.fence = 1});
  d.Signal(1);
  // More tokens than a lane writes slots for by itself.
  d.Append({1}, {12}, {.slot_capacity = 12});
  d.BeginDraft({1}, {10}, {}, {.slot_capacity = 10});
  ExpectSound(d, 93, 1);
}

TYPED_TEST_P(Fences, TakeNoSetWhereNoTailIsReplaced) {
  CacheDriver d = this->Make(WithSets(2));
  d.Append({0, 1}, {4, 4});
  d.Append({0}, {1}, {.fence = 9});
  d.Append({0}, {12}, {.slot_capacity = 12, .fence = 8});
  d.Close({1}, {.fence = 2});
  EXPECT_EQ(d.Snapshot().blocks[1].waits_for, 2u);
}

TYPED_TEST_P(Fences, AShortageThatTheyWillEndIsRetryAfterFence) {
  KvCacheOptions options = kWithDrafts;
  options.num_blocks = 10;
  CacheDriver d = this->Make(options);
  d.Append({0, 1}, {20, 4});
  d.Close({1}, {.fence = 3});
  // 4 are free and 1 is pending.
  const RowSettings whole = {.failure = FailureMode::kWholeBatch};
  ExpectChangesNothing(d, [&] {
    EXPECT_EQ(d.Reserve({2, 3}, {20, 24}), Statuses({kRetryAfterFence, kFull}));
    EXPECT_EQ(d.Append({2}, {20}).statuses, Statuses({kRetryAfterFence}));
    EXPECT_EQ(d.Reserve({2, 3, 0}, {16, 4, 20}, whole),
              Statuses({kRetryAfterFence, kRetryAfterFence, kCancelled}));
    EXPECT_EQ(d.Reserve({2, 3}, {16, 8}, whole), Statuses({kFull, kFull}));
    EXPECT_EQ(d.Reserve({2, 3}, {24, 20}, whole), Statuses({kNeverFits, kNeverFits}));
  });
  d.Append({4, 5}, {0, 0});
  EXPECT_EQ(d.BeginDraft({4, 5}, {5, 5}, {3, 2}).statuses, Statuses({kFull, kOk}));
  d.AbortDraft({5});
  d.Signal(3);
  EXPECT_EQ(d.Reserve({2}, {20}), Statuses({kOk}));
}

TYPED_TEST_P(Fences, AShortageIsJudgedByWhatTheRowItselfFinds) {
  KvCacheOptions options = kWithDrafts;
  options.num_blocks = 10;
  CacheDriver d = this->Make(options);
  d.Append({0, 1}, {20, 4});
  d.Close({1}, {.fence = 3});
  EXPECT_EQ(d.Reserve({2, 3, 4, 5}, {20, 12, 20, 8}),
            Statuses({kRetryAfterFence, kOk, kFull, kRetryAfterFence}));
}

TYPED_TEST_P(Fences, BadEntriesOfAListHoldNothingBack) {
  CacheDriver d = this->Make(kWithDrafts);
  d.Append({0}, {12});
  d.Share({1, 2, 3});
  d.Close({0});
  ExpectChangesNothing(d, [&] {
    EXPECT_EQ(d.Release({1, 1, 200}, {.fence = 1}), Statuses({kCancelled, kDoubleFree, kInvalid}));
  });
  EXPECT_EQ(d.Release({1, 1, 0, 200, 3}, {.failure = FailureMode::kPerRow, .fence = 1}),
            Statuses({kOk, kDoubleFree, kOk, kInvalid, kOk}));
  ExpectSound(d, 97, 2);
}

TYPED_TEST_P(Fences, ABlockThatWaitsIsNobodys) {
  CacheDriver d = this->Make(kWithDrafts);
  d.Append({0}, {4});
  const uint32_t generation = d.Block(1).generation;
  d.Close({0}, {.fence = 1});
  ExpectChangesNothing(d, [&] {
    EXPECT_EQ(d.Share({1}), Statuses({kStale}));
    EXPECT_EQ(d.Share({1}, {.generations = {{generation}}}), Statuses({kStale}));
    EXPECT_EQ(d.Release({1}), Statuses({kDoubleFree}));
    EXPECT_EQ(d.Release({1}, {.generations = {{generation}}, .fence = 2}), Statuses({kStale}));
    EXPECT_EQ(d.Close({0}, {.fence = 2}), Statuses({kClosed}));
  });
  d.Append({1}, {4});
  EXPECT_EQ(d.Row(1), Ids({2}));
}

TYPED_TEST_P(Fences, ABlockWaitsOnlyWhenItsLastHolderLetsGo) {
  CacheDriver d = this->Make(kWithDrafts);
  d.Append({0}, {8});
  d.Fork({1}, {0}, {8});
  d.Close({0}, {.fence = 1});
  ExpectSound(d, 98);
  d.Close({1}, {.fence = 2});
  d.Signal(1);
  d.Poll();
  ExpectSound(d, 98, 2);
}

TYPED_TEST_P(Fences, SignalNextCountsInMemoryAndPolls) {
  CacheDriver d = this->Make(kWithDrafts);
  d.Append({0, 1}, {4, 4});
  d.Close({0}, {.fence = 1, .fence_in_memory = true});
  d.Close({1}, {.fence = 2});
  EXPECT_EQ(d.SignalNext(1), 2u);
  ExpectSound(d, 99, 1);
  EXPECT_EQ(d.SignalNext(2), 3u);
  ExpectSound(d, 100);
  const uint64_t first = d.cache().NextEpoch();
  EXPECT_EQ(d.cache().NextEpoch(), first + 1);
}

TYPED_TEST_P(Fences, ThatCannotBeAreRefused) {
  const auto code = absl::StatusCode::kInvalidArgument;
  const uint64_t too_young = ~uint64_t{0};
  CacheDriver d = this->Make(WithSets(2));
  KvCache& cache = d.cache();
  EXPECT_EQ(cache.Signal(d.stream(), 0).code(), code);
  EXPECT_EQ(cache.Signal(d.stream(), too_young).code(), code);
  EXPECT_EQ(cache.SignalNext(d.stream(), nullptr).code(), code);
  EXPECT_EQ(cache.Close(d.stream(), {{}, {.epoch = too_young}}).code(), code);
  CacheDriver without = this->Make(WithSets(0));
  without.Poll();
  EXPECT_EQ(without.cache().Signal(without.stream(), 1).code(), code);
  EXPECT_EQ(without.cache().Close(without.stream(), {{}, {.epoch = 1}}).code(), code);
  without.Append({0}, {4});
  without.Close({0});
  ExpectSound(without, 100);
}

REGISTER_TYPED_TEST_SUITE_P(
    Fences, EveryOperationThatLetsBlocksGoHeedsThem, CommitLetsTheReplacedTailGoUnderThem,
    OfNoEpochOrOneThatHasCompletedHoldNothing, CompletingAnEpochCompletesThoseBeforeIt,
    MoreEpochsThanSetsFreeLateAndNeverEarly, AnEpochWithoutASetJoinsTheNextYoungerOne,
    WhoWantsBlocksNeedsNoPoll, WhoWantsNoBlocksLeavesThemPending, TakeNoSetWhereNoTailIsReplaced,
    AShortageThatTheyWillEndIsRetryAfterFence, AShortageIsJudgedByWhatTheRowItselfFinds,
    BadEntriesOfAListHoldNothingBack, ABlockThatWaitsIsNobodys,
    ABlockWaitsOnlyWhenItsLastHolderLetsGo, SignalNextCountsInMemoryAndPolls,
    ThatCannotBeAreRefused);

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_CONFORMANCE_FENCE_SUITE_H_
