// SPDX-License-Identifier: Apache-2.0
//
// tests/conformance/batch_suite.h
//
// What all batch operations on rows have in common: which rows are meant, and what one failure
// means for the others.

#ifndef KVPAGE_TESTS_CONFORMANCE_BATCH_SUITE_H_
#define KVPAGE_TESTS_CONFORMANCE_BATCH_SUITE_H_

#include "tests/conformance/fixture.h"

namespace kvpage::test {

template <class Backend>
class Batch : public ConformanceTest<Backend> {};

TYPED_TEST_SUITE_P(Batch);

constexpr RowSettings kAllOrNone = {.failure = FailureMode::kWholeBatch};

TYPED_TEST_P(Batch, ARowThatStandsTwiceCountsOnce) {
  CacheDriver d = this->Make();
  EXPECT_EQ(d.Append({4, 1, 4, 1, 4}, {5, 1, 9, 2, 0}).statuses,
            Statuses({kOk, kOk, kInvalid, kInvalid, kInvalid}));
  EXPECT_EQ(d.Length(4), 5);
  EXPECT_EQ(d.Length(1), 1);
  EXPECT_EQ(d.Reserve({1, 1}, {9, 24}), Statuses({kOk, kInvalid}));
  EXPECT_EQ(d.Truncate({4, 4}, {3, 0}), Statuses({kOk, kInvalid}));
  EXPECT_EQ(d.Fork({2, 2}, {4, 1}, {3, 1}).statuses, Statuses({kOk, kInvalid}));
  EXPECT_EQ(d.Close({4, 2, 4, 1}), Statuses({kOk, kOk, kInvalid, kOk}));
  ExpectSound(d, 100);
}

TYPED_TEST_P(Batch, TheFirstMentionCountsEvenIfItFails) {
  CacheDriver d = this->Make();
  EXPECT_EQ(d.Append({4, 4}, {100, 1}).statuses, Statuses({kTableFull, kInvalid}));
  EXPECT_FALSE(d.Sequence(4).open);
  EXPECT_EQ(d.Append({4}, {1}).statuses, Statuses({kOk}));
}

TYPED_TEST_P(Batch, RowsOutsideTheTableAreInvalid) {
  CacheDriver d = this->Make();
  const Rows rows = {-1, 8, 0x7fffffff, static_cast<int32_t>(0x80000000)};
  const Tokens tokens(4, 1);
  ExpectChangesNothing(d, [&] {
    EXPECT_EQ(d.Reserve(rows, tokens), Statuses(4, kInvalid));
    EXPECT_EQ(d.Append(rows, tokens).statuses, Statuses(4, kInvalid));
    EXPECT_EQ(d.Truncate(rows, tokens), Statuses(4, kInvalid));
    EXPECT_EQ(d.Close(rows), Statuses(4, kInvalid));
    EXPECT_EQ(d.Fork(rows, {0, 0, 0, 0}, tokens).statuses, Statuses(4, kInvalid));
  });
  EXPECT_EQ(d.Append({7, -1}, {1, 1}).statuses, Statuses({kOk, kInvalid}));
}

TYPED_TEST_P(Batch, NegativeTokensAreInvalid) {
  CacheDriver d = this->Make();
  d.Append({0, 1}, {3, 3});
  const Tokens tokens = {-1, static_cast<int32_t>(0x80000000)};
  ExpectChangesNothing(d, [&] {
    EXPECT_EQ(d.Reserve({0, 1}, tokens), Statuses(2, kInvalid));
    EXPECT_EQ(d.Append({0, 1}, tokens, {.slot_capacity = 2}).slots, Slots({-1, -1}));
    EXPECT_EQ(d.Append({0, 1}, tokens).statuses, Statuses(2, kInvalid));
    EXPECT_EQ(d.Truncate({0, 1}, tokens), Statuses(2, kInvalid));
    EXPECT_EQ(d.Fork({2, 3}, {0, 1}, tokens).statuses, Statuses(2, kInvalid));
  });
}

TYPED_TEST_P(Batch, NoRowsAreFine) {
  CacheDriver d = this->Make();
  ExpectChangesNothing(d, [&] {
    EXPECT_EQ(d.Reserve({}, {}), Statuses());
    EXPECT_EQ(d.Truncate({}, {}), Statuses());
    EXPECT_EQ(d.Close({}), Statuses());
    EXPECT_EQ(d.Fork({}, {}, {}).statuses, Statuses());
    EXPECT_EQ(d.Share({}), Statuses());
    EXPECT_EQ(d.Release({}), Statuses());
    EXPECT_EQ(d.Append({}, {}, {.slot_capacity = 5}).slots, Slots(5, -1));
  });
}

TYPED_TEST_P(Batch, ACountInMemorySaysHowManyRowsAreMeant) {
  CacheDriver d = this->Make();
  EXPECT_EQ(d.Append({0, 1, 2}, {5, 5, 5}, {.count = 2}).statuses,
            Statuses({kOk, kOk, kUnwritten}));
  EXPECT_FALSE(d.Sequence(2).open);
  EXPECT_EQ(d.Reserve({2, 3}, {4, 4}, {.count = 1}), Statuses({kOk, kUnwritten}));
  EXPECT_EQ(d.Fork({4, 5}, {0, 0}, {4, 4}, {.count = 1}).statuses, Statuses({kOk, kUnwritten}));
  EXPECT_EQ(d.Truncate({0, 1}, {1, 1}, {.count = 1}), Statuses({kOk, kUnwritten}));
  EXPECT_EQ(d.Close({0, 1}, {.count = 0}), Statuses(2, kUnwritten));
  EXPECT_EQ(d.Close({0, 1}, {.count = -1}), Statuses(2, kUnwritten));
  EXPECT_EQ(d.Close({0, 1, 2, 4}, {.count = 0x7fffffff}), Statuses(4, kOk));
  ExpectSound(d, 100);
}

// A captured graph carries the whole copy list out, whatever the count was when it was replayed.
TYPED_TEST_P(Batch, RowsBeyondTheCountAskForNoCopyAndHaveNoSlot) {
  CacheDriver d = this->Make();
  const RowResults r = d.Append({0, 1, 2}, {1, 1, 1}, {.count = 1, .slot_capacity = 3});
  EXPECT_EQ(r.slots, Slots({4, -1, -1}));
  EXPECT_EQ(r.copies, Copies(3));
  EXPECT_EQ(d.Fork({3, 4}, {0, 0}, {1, 1}, {.count = 1}).copies, Copies({{1, 2, 1}, BlockCopy{}}));
  EXPECT_EQ(d.Fork({5, 6}, {0, 0}, {1, 1}, {.count = 0}).copies, Copies(2));
}

TYPED_TEST_P(Batch, PerRowAFailureLeavesTheOthersAlone) {
  CacheDriver d = this->Make(WithBlocks(6));
  EXPECT_EQ(d.Reserve({0, 1, 2, 3, 4}, {12, 16, 8, 5, 4}), Statuses({kOk, kFull, kOk, kFull, kOk}));
  EXPECT_EQ(d.Row(0), Ids({1, 2, 3}));
  EXPECT_EQ(d.Row(2), Ids({4, 5}));
  EXPECT_EQ(d.Row(4), Ids({6}));
  ExpectSound(d, 0);
  EXPECT_EQ(d.Close({0, 1, 2}), Statuses({kOk, kClosed, kOk}));
}

TYPED_TEST_P(Batch, AllOrNoneSucceedsAsAWhole) {
  CacheDriver d = this->Make(WithBlocks(6));
  EXPECT_EQ(d.Append({0, 1}, {12, 12}, kAllOrNone).statuses, Statuses({kOk, kOk}));
  EXPECT_EQ(d.Truncate({0, 1}, {8, 7}, kAllOrNone), Statuses({kOk, kOk}));
  EXPECT_EQ(d.Fork({2, 3}, {0, 1}, {8, 7}, kAllOrNone).statuses, Statuses({kOk, kOk}));
  EXPECT_EQ(d.Close({0, 1, 2, 3}, kAllOrNone), Statuses(4, kOk));
  ExpectSound(d, 6);
}

TYPED_TEST_P(Batch, AllOrNoneOneBadRowCancelsTheOthers) {
  CacheDriver d = this->Make();
  d.Append({0, 1}, {6, 6});
  ExpectChangesNothing(d, [&] {
    EXPECT_EQ(d.Reserve({0, 9, 1}, {20, 1, 1}, kAllOrNone),
              Statuses({kCancelled, kInvalid, kCancelled}));
    RowResults r =
        d.Append({0, 1, 2}, {1, 19, 1}, {.failure = FailureMode::kWholeBatch, .slot_capacity = 22});
    EXPECT_EQ(r.statuses, Statuses({kCancelled, kTableFull, kCancelled}));
    EXPECT_EQ(r.slots, Slots(22, -1));
    EXPECT_EQ(d.Truncate({0, 1, 2}, {1, -1, 1}, kAllOrNone),
              Statuses({kCancelled, kInvalid, kClosed}));
    EXPECT_EQ(d.Close({0, 1, 0}, kAllOrNone), Statuses({kCancelled, kCancelled, kInvalid}));
    r = d.Fork({2, 3, 1}, {0, 0, 0}, {6, 4, 4}, kAllOrNone);
    EXPECT_EQ(r.statuses, Statuses({kCancelled, kCancelled, kWrongState}));
    EXPECT_EQ(r.copies, Copies(3));
  });
}

TYPED_TEST_P(Batch, AllOrNoneShortOfBlocksIsFullForAllThatNeedSome) {
  CacheDriver d = this->Make(WithBlocks(6));
  d.Append({0}, {8});
  ExpectChangesNothing(d, [&] {
    EXPECT_EQ(d.Reserve({1, 0, 2}, {8, 8, 12}, kAllOrNone), Statuses({kFull, kCancelled, kFull}));
    EXPECT_EQ(d.Append({1, 0, 2}, {8, 0, 12}, kAllOrNone).statuses,
              Statuses({kFull, kCancelled, kFull}));
  });
  EXPECT_EQ(d.Reserve({1, 0, 2}, {8, 8, 8}, kAllOrNone), Statuses(3, kOk));
  ExpectSound(d, 0);
}

TYPED_TEST_P(Batch, AllOrNoneOfMoreThanThePoolNeverFits) {
  CacheDriver d = this->Make(WithBlocks(6));
  ExpectChangesNothing(d, [&] {
    EXPECT_EQ(d.Reserve({1, 0, 2}, {12, 0, 16}, kAllOrNone),
              Statuses({kNeverFits, kCancelled, kNeverFits}));
  });
}

TYPED_TEST_P(Batch, AsManyRowsAsTheTableHas) {
  CacheDriver d = this->Make();
  const Rows rows = {7, 6, 5, 4, 3, 2, 1, 0};
  EXPECT_EQ(d.Append(rows, Tokens(8, 24)).statuses, Statuses(8, kOk));
  EXPECT_EQ(d.Row(0), Ids({43, 44, 45, 46, 47, 48}));
  EXPECT_EQ(d.Close(rows), Statuses(8, kOk));
  ExpectSound(d, 100);
}

TYPED_TEST_P(Batch, BadHostArgumentsAreRefusedAndChangeNothing) {
  CacheDriver d = this->Make();
  KvCache& cache = d.cache();
  const StreamRef stream = d.stream();
  GuardedArena arena(*d.access().shared, 1 << 14);
  const int32_t* numbers = arena.Take(std::vector<int32_t>(16, 0));
  OpStatus* statuses = arena.Take(Statuses(16, kUnwritten));
  const auto is_refused = [](const absl::Status& status) {
    return status.code() == absl::StatusCode::kInvalidArgument;
  };
  ExpectChangesNothing(d, [&] {
    for (const RowBatch& bad : {RowBatch{numbers, -1, statuses}, RowBatch{numbers, 9, statuses},
                                RowBatch{nullptr, 1, statuses}, RowBatch{numbers, 1, nullptr}}) {
      EXPECT_TRUE(is_refused(cache.Reserve(stream, {bad, numbers})));
      EXPECT_TRUE(is_refused(cache.Append(stream, {bad, numbers})));
      EXPECT_TRUE(is_refused(cache.Truncate(stream, {bad, numbers})));
      EXPECT_TRUE(is_refused(cache.Close(stream, {bad})));
      EXPECT_TRUE(is_refused(cache.Fork(stream, {bad, numbers, numbers})));
    }
    const RowBatch one = {numbers, 1, statuses};
    EXPECT_TRUE(is_refused(cache.Reserve(stream, {one, nullptr})));
    EXPECT_TRUE(is_refused(cache.Append(stream, {one, nullptr})));
    EXPECT_TRUE(is_refused(cache.Append(stream, {one, numbers, nullptr, 1})));
    int64_t* slots = arena.Take(Slots(1, -2));
    EXPECT_TRUE(is_refused(cache.Append(stream, {one, numbers, slots, -1})));
    EXPECT_TRUE(is_refused(cache.Truncate(stream, {one, nullptr})));
    EXPECT_TRUE(is_refused(cache.Fork(stream, {one, nullptr, numbers})));
    EXPECT_TRUE(is_refused(cache.Fork(stream, {one, numbers, nullptr})));
    const BlockId* ids = arena.Take(Ids{1});
    for (const BlockListBatch& bad :
         {BlockListBatch{ids, -1, statuses}, BlockListBatch{nullptr, 1, statuses},
          BlockListBatch{ids, 1, nullptr}}) {
      EXPECT_TRUE(is_refused(cache.Share(stream, bad)));
      EXPECT_TRUE(is_refused(cache.Release(stream, bad)));
    }
    std::vector<uint32_t> workspace(99);
    AuditReport report;
    EXPECT_TRUE(is_refused(cache.Audit(stream, &report, absl::MakeSpan(workspace))));
    EXPECT_TRUE(is_refused(cache.Audit(stream, nullptr, absl::MakeSpan(workspace))));
    EXPECT_TRUE(is_refused(cache.StateHash(stream, nullptr)));
    EXPECT_TRUE(cache.Synchronize(stream).ok());
    EXPECT_EQ(statuses[0], kUnwritten);
  });
}

REGISTER_TYPED_TEST_SUITE_P(Batch, ARowThatStandsTwiceCountsOnce,
                            TheFirstMentionCountsEvenIfItFails, RowsOutsideTheTableAreInvalid,
                            NegativeTokensAreInvalid, NoRowsAreFine,
                            ACountInMemorySaysHowManyRowsAreMeant,
                            RowsBeyondTheCountAskForNoCopyAndHaveNoSlot,
                            PerRowAFailureLeavesTheOthersAlone, AllOrNoneSucceedsAsAWhole,
                            AllOrNoneOneBadRowCancelsTheOthers,
                            AllOrNoneShortOfBlocksIsFullForAllThatNeedSome,
                            AllOrNoneOfMoreThanThePoolNeverFits, AsManyRowsAsTheTableHas,
                            BadHostArgumentsAreRefusedAndChangeNothing);

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_CONFORMANCE_BATCH_SUITE_H_
