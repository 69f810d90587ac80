// SPDX-License-Identifier: Apache-2.0
//
// tests/conformance/draft_suite.h
//
// BeginDraft: where the tokens of a draft go, what it answers, and that nobody sees it.

#ifndef KVPAGE_TESTS_CONFORMANCE_DRAFT_SUITE_H_
#define KVPAGE_TESTS_CONFORMANCE_DRAFT_SUITE_H_

#include "tests/conformance/copy_on_write_suite.h"
#include "tests/conformance/fixture.h"

namespace kvpage::test {

template <class Backend>
class BeginDraft : public ConformanceTest<Backend> {};

TYPED_TEST_SUITE_P(BeginDraft);

// No private block in any of 3 branches of 4 blocks.
inline const Ids kNoDraft = Ids(12, kNullBlock);

TYPED_TEST_P(BeginDraft, WritesIntoTheRowsOwnTail) {
  CacheDriver d = this->Make(kWithDrafts);
  d.Append({0}, {6});
  const RowResults r = d.BeginDraft({0}, {2}, {}, {.slot_capacity = 3});
  EXPECT_EQ(r.statuses, Statuses({kOk}));
  EXPECT_EQ(r.slots, Slots({10, 11, -1}));
  EXPECT_EQ(r.copies, Copies(3));
  EXPECT_EQ(d.DraftRow(0), kNoDraft);
  EXPECT_TRUE(d.Sequence(0).drafting);
  ExpectSound(d, 98);
  EXPECT_EQ(d.Audit().open_drafts, 1u);
}

TYPED_TEST_P(BeginDraft, TakesPrivateBlocksBeyondTheTail) {
  CacheDriver d = this->Make(kWithDrafts);
  d.Append({0}, {6});
  EXPECT_EQ(d.BeginDraft({0}, {7}, {}, {.slot_capacity = 7}).slots,
            Slots({10, 11, 12, 13, 14, 15, 16}));
  EXPECT_EQ(d.DraftRow(0), Ids({0, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
  ExpectSound(d, 96);
}

TYPED_TEST_P(BeginDraft, WritesIntoReservedBlocks) {
  CacheDriver d = this->Make(kWithDrafts);
  d.Append({0}, {6});
  d.Reserve({0}, {12});
  EXPECT_EQ(d.BeginDraft({0}, {7}, {}, {.slot_capacity = 7}).slots,
            Slots({10, 11, 12, 13, 14, 15, 16}));
  EXPECT_EQ(d.Row(0), Ids({1, 2, 3}));
  EXPECT_EQ(d.DraftRow(0), Ids({0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
}

TYPED_TEST_P(BeginDraft, GivesEachOfSeveralBranchesBlocksOfItsOwn) {
  CacheDriver d = this->Make(kWithDrafts);
  d.Append({0}, {6});
  d.Reserve({0}, {12});
  const RowResults r = d.BeginDraft({0}, {3}, {2}, {.slot_capacity = 6});
  EXPECT_EQ(r.slots, Slots({18, 19, 20, 26, 27, 28}));
  EXPECT_EQ(r.copies, Copies({{2, 4, 2}, {2, 6, 2}, {}}));
  EXPECT_EQ(d.Row(0), Ids({1, 2, 3}));
  EXPECT_EQ(d.DraftRow(0), Ids({4, 5, 0, 0, 6, 7, 0, 0, 0, 0, 0, 0}));
  ExpectSound(d, 93);
}

TYPED_TEST_P(BeginDraft, AtABlockBoundaryNeedsNoCopies) {
  CacheDriver d = this->Make(kWithDrafts);
  d.Append({0}, {8});
  const RowResults r = d.BeginDraft({0}, {2}, {3}, {.slot_capacity = 6, .with_copies = false});
  EXPECT_EQ(r.statuses, Statuses({kOk}));
  EXPECT_EQ(r.slots, Slots({12, 13, 16, 17, 20, 21}));
}

TYPED_TEST_P(BeginDraft, CopiesASharedTail) {
  CacheDriver d = this->Make(kWithDrafts);
  ShareATail(d, 6);
  const RowResults r = d.BeginDraft({1, 0}, {1, 4}, {}, {.slot_capacity = 5});
  EXPECT_EQ(r.copies, Copies({{2, 3, 2}, {}, {}, {2, 4, 2}, {}, {}}));
  EXPECT_EQ(r.slots, Slots({14, 18, 19, 20, 21}));
  EXPECT_EQ(d.Row(0), Ids({1, 2}));
  EXPECT_EQ(d.Block(2).references, 2);
}

TYPED_TEST_P(BeginDraft, WithoutAnArrayOfCopiesIsWrongStateWhereOneIsNeeded) {
  CacheDriver d = this->Make(kWithDrafts);
  ShareATail(d, 6);
  d.Append({2}, {5});
  ExpectChangesNothing(d, [&] {
    EXPECT_EQ(d.BeginDraft({0, 2}, {1, 1}, {1, 2}, {.with_copies = false}).statuses,
              Statuses({kWrongState, kWrongState}));
  });
  EXPECT_EQ(d.BeginDraft({0, 2}, {0, 1}, {3, 1}, {.with_copies = false}).statuses,
            Statuses({kOk, kOk}));
}

TYPED_TEST_P(BeginDraft, OfNoTokensNeedsNothing) {
  CacheDriver d = this->Make(kWithDrafts);
  ShareATail(d, 6);
  d.Append({2}, {24});
  const RowResults r = d.BeginDraft({0, 2}, {0, 0}, {3, 1}, {.slot_capacity = 1});
  EXPECT_EQ(r.statuses, Statuses({kOk, kOk}));
  EXPECT_EQ(r.slots, Slots({-1}));
  EXPECT_EQ(r.copies, Copies(6));
  EXPECT_TRUE(d.Sequence(0).drafting);
  ExpectSound(d, 92);
}

TYPED_TEST_P(BeginDraft, OfARowWithoutTokens) {
  CacheDriver d = this->Make(kWithDrafts);
  d.Reserve({0}, {0});
  EXPECT_EQ(d.BeginDraft({0}, {5}, {}, {.slot_capacity = 5}).slots, Slots({4, 5, 6, 7, 8}));
  EXPECT_EQ(d.Row(0), Ids());
}

TYPED_TEST_P(BeginDraft, ReachesTheEndOfTheRowAndNotBeyond) {
  CacheDriver d = this->Make(kWithDrafts);
  d.Append({0, 1}, {21, 21});
  EXPECT_EQ(d.BeginDraft({0, 1}, {3, 4}).statuses, Statuses({kOk, kTableFull}));
  EXPECT_EQ(d.BeginDraft({1}, {3}, {3}).statuses, Statuses({kOk}));
  d.Append({2}, {19});
  EXPECT_EQ(d.BeginDraft({2}, {6}, {2}).statuses, Statuses({kTableFull}));
  EXPECT_EQ(d.BeginDraft({2}, {5}, {2}).statuses, Statuses({kOk}));
}

TYPED_TEST_P(BeginDraft, OfMoreThanTheOptionsAllowIsInvalid) {
  CacheDriver d = this->Make(kWithDrafts);
  d.Append({0, 1, 2, 3}, {6, 6, 6, 6});
  ExpectChangesNothing(d, [&] {
    const RowResults r =
        d.BeginDraft({0, 1, 2, 3}, {11, -1, 1, 1}, {1, 1, 0, 4}, {.slot_capacity = 40});
    EXPECT_EQ(r.statuses, Statuses(4, kInvalid));
    EXPECT_EQ(r.slots, Slots(40, -1));
  });
  EXPECT_EQ(d.BeginDraft({0}, {10}, {3}).statuses, Statuses({kOk}));
}

TYPED_TEST_P(BeginDraft, OfAClosedRowIsClosedAndASecondOneWrongState) {
  CacheDriver d = this->Make(kWithDrafts);
  d.Append({0}, {6});
  d.BeginDraft({0}, {5});
  ExpectChangesNothing(d, [&] {
    EXPECT_EQ(d.BeginDraft({0, 1, 8, -1}, {1, 1, 1, 1}).statuses,
              Statuses({kWrongState, kClosed, kInvalid, kInvalid}));
  });
}

TYPED_TEST_P(BeginDraft, TakesTheFirstMentionOfARow) {
  CacheDriver d = this->Make(kWithDrafts);
  d.Append({0, 1}, {4, 4});
  const RowResults r = d.BeginDraft({0, 1, 0}, {1, 1, 2}, {}, {.slot_capacity = 4});
  EXPECT_EQ(r.statuses, Statuses({kOk, kOk, kInvalid}));
  EXPECT_EQ(r.slots, Slots({12, 16, -1, -1}));
}

TYPED_TEST_P(BeginDraft, KeepsTheSlotsOfRowsThatFailAndFillsTheRest) {
  CacheDriver d = this->Make(kWithDrafts);
  d.Append({0, 1}, {4, 4});
  const RowResults r =
      d.BeginDraft({0, 5, 9, 1}, {1, 2, 1, 2}, {1, 2, 1, 2}, {.slot_capacity = 12});
  EXPECT_EQ(r.statuses, Statuses({kOk, kClosed, kInvalid, kOk}));
  EXPECT_EQ(r.slots, Slots({12, -1, -1, -1, -1, -1, 16, 17, 20, 21, -1, -1}));
}

TYPED_TEST_P(BeginDraft, OfARowWhoseSlotsDoNotFitIsInvalid) {
  CacheDriver d = this->Make(kWithDrafts);
  d.Append({0, 1, 2}, {4, 4, 4});
  const RowResults r = d.BeginDraft({0, 1, 2}, {1, 2, 0}, {1, 2, 3}, {.slot_capacity = 4});
  EXPECT_EQ(r.statuses, Statuses({kOk, kInvalid, kOk}));
  EXPECT_EQ(r.slots, Slots({16, -1, -1, -1}));
}

TYPED_TEST_P(BeginDraft, OfAWholeBatchIsAllOrNone) {
  CacheDriver d = this->Make(kWithDrafts);
  d.Append({0, 1, 2}, {6, 6, 4});
  const RowSettings whole = {.failure = FailureMode::kWholeBatch, .slot_capacity = 30};
  ExpectChangesNothing(d, [&] {
    const RowResults r = d.BeginDraft({0, 7, 1}, {2, 2, 2}, {2, 2, 2}, whole);
    EXPECT_EQ(r.statuses, Statuses({kCancelled, kClosed, kCancelled}));
    EXPECT_EQ(r.slots, Slots(30, -1));
    EXPECT_EQ(r.copies, Copies(9));
  });
  EXPECT_EQ(d.BeginDraft({0, 1}, {2, 2}, {2, 2}, whole).statuses, Statuses({kOk, kOk}));
}

TYPED_TEST_P(BeginDraft, ThatFindsTooFewBlocksChangesNothing) {
  KvCacheOptions options = kWithDrafts;
  options.num_blocks = 5;
  CacheDriver d = this->Make(options);
  d.Append({0, 1}, {6, 2});
  ExpectChangesNothing(d, [&] {
    const RowResults r = d.BeginDraft({0, 1}, {3, 1}, {2, 3}, {.slot_capacity = 9});
    EXPECT_EQ(r.statuses, Statuses({kFull, kFull}));
    EXPECT_EQ(r.slots, Slots(9, -1));
    EXPECT_EQ(d.BeginDraft({0}, {3}, {3}).statuses, Statuses({kNeverFits}));
    EXPECT_EQ(d.BeginDraft({0, 1}, {2, 1}, {2, 2}, {.failure = FailureMode::kWholeBatch}).statuses,
              Statuses({kFull, kFull}));
  });
  EXPECT_EQ(d.BeginDraft({0, 1}, {2, 1}, {2, 1}, {.failure = FailureMode::kWholeBatch}).statuses,
            Statuses({kOk, kOk}));
}

TYPED_TEST_P(BeginDraft, StopsAtTheCount) {
  CacheDriver d = this->Make(kWithDrafts);
  d.Append({0, 1}, {6, 6});
  const RowResults r = d.BeginDraft({0, 1}, {1, 1}, {2, 2}, {.count = 1, .slot_capacity = 4});
  EXPECT_EQ(r.statuses, Statuses({kOk, kUnwritten}));
  EXPECT_EQ(r.copies, Copies({{2, 5, 2}, {2, 6, 2}, {}, {}, {}, {}}));
  EXPECT_EQ(r.slots, Slots({22, 26, -1, -1}));
  EXPECT_FALSE(d.Sequence(1).drafting);
}

TYPED_TEST_P(BeginDraft, IsSeenByNobody) {
  CacheDriver d = this->Make(kWithDrafts);
  ShareATail(d, 6);
  const SequenceState before = d.Sequence(0);
  d.BeginDraft({0}, {9}, {3});
  EXPECT_EQ(d.Length(0), 6);
  EXPECT_EQ(d.Sequence(0).generation, before.generation);
  EXPECT_EQ(d.WholeRow(0), Ids({1, 2, 0, 0, 0, 0}));
  EXPECT_EQ(d.Row(1), Ids({1, 2}));
  EXPECT_EQ(d.Audit().outside_blocks, 0u);
}

TYPED_TEST_P(BeginDraft, KeepsOthersFromChangingTheRow) {
  CacheDriver d = this->Make(kWithDrafts);
  d.Append({0}, {6});
  d.BeginDraft({0}, {5});
  ExpectChangesNothing(d, [&] {
    EXPECT_EQ(d.Append({0}, {1}).statuses, Statuses({kWrongState}));
    EXPECT_EQ(d.Append({0}, {100}).statuses, Statuses({kWrongState}));
    EXPECT_EQ(d.Reserve({0}, {24}), Statuses({kWrongState}));
    EXPECT_EQ(d.Truncate({0}, {0}), Statuses({kWrongState}));
    EXPECT_EQ(d.Fork({0}, {0}, {0}).statuses, Statuses({kWrongState}));
  });
}

TYPED_TEST_P(BeginDraft, IsNotForked) {
  CacheDriver d = this->Make(kWithDrafts);
  d.Append({0}, {6});
  d.BeginDraft({0}, {5}, {2});
  EXPECT_EQ(d.Fork({1}, {0}, {7}).statuses, Statuses({kInvalid}));
  EXPECT_EQ(d.Fork({1}, {0}, {6}).copies, Copies({{2, 7, 2}}));
  EXPECT_EQ(d.Row(1), Ids({1, 7}));
  EXPECT_FALSE(d.Sequence(1).drafting);
}

TYPED_TEST_P(BeginDraft, EndsWhenItsRowIsClosed) {
  CacheDriver d = this->Make(kWithDrafts);
  d.Append({0, 1, 2}, {6, 6, 6});
  d.BeginDraft({0, 2}, {10, 3}, {3, 1});
  EXPECT_EQ(d.Close({1, 0}), Statuses({kOk, kOk}));
  EXPECT_EQ(d.DraftRow(0), kNoDraft);
  ExpectSound(d, 97);
  EXPECT_EQ(d.CommitDraft({0}, {1}), Statuses({kClosed}));
  EXPECT_EQ(d.CommitDraft({2}, {3}), Statuses({kOk}));
}

REGISTER_TYPED_TEST_SUITE_P(BeginDraft, WritesIntoTheRowsOwnTail, TakesPrivateBlocksBeyondTheTail,
                            WritesIntoReservedBlocks, GivesEachOfSeveralBranchesBlocksOfItsOwn,
                            AtABlockBoundaryNeedsNoCopies, CopiesASharedTail,
                            WithoutAnArrayOfCopiesIsWrongStateWhereOneIsNeeded,
                            OfNoTokensNeedsNothing, OfARowWithoutTokens,
                            ReachesTheEndOfTheRowAndNotBeyond, OfMoreThanTheOptionsAllowIsInvalid,
                            OfAClosedRowIsClosedAndASecondOneWrongState, TakesTheFirstMentionOfARow,
                            KeepsTheSlotsOfRowsThatFailAndFillsTheRest,
                            OfARowWhoseSlotsDoNotFitIsInvalid, OfAWholeBatchIsAllOrNone,
                            ThatFindsTooFewBlocksChangesNothing, StopsAtTheCount, IsSeenByNobody,
                            KeepsOthersFromChangingTheRow, IsNotForked, EndsWhenItsRowIsClosed);

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_CONFORMANCE_DRAFT_SUITE_H_
