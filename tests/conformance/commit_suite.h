// SPDX-License-Identifier: Apache-2.0
//
// tests/conformance/commit_suite.h
//
// CommitDraft and AbortDraft: what is accepted becomes part of the row, and the rest is let go.

#ifndef KVPAGE_TESTS_CONFORMANCE_COMMIT_SUITE_H_
#define KVPAGE_TESTS_CONFORMANCE_COMMIT_SUITE_H_

#include "tests/conformance/copy_on_write_suite.h"
#include "tests/conformance/fixture.h"

namespace kvpage::test {

template <class Backend>
class CommitDraft : public ConformanceTest<Backend> {};

TYPED_TEST_SUITE_P(CommitDraft);

TYPED_TEST_P(CommitDraft, OfAllTokensKeepsTheirBlocks) {
  CacheDriver d = this->Make(kWithDrafts);
  d.Append({0}, {6});
  d.BeginDraft({0}, {5});
  EXPECT_EQ(d.CommitDraft({0}, {5}), Statuses({kOk}));
  EXPECT_EQ(d.Length(0), 11);
  EXPECT_EQ(d.WholeRow(0), Ids({1, 2, 3, 0, 0, 0}));
  EXPECT_EQ(d.DraftRow(0), Ids(12, kNullBlock));
  EXPECT_FALSE(d.Sequence(0).drafting);
  EXPECT_EQ(d.Sequence(0).generation, 0u);
  ExpectSound(d, 97);
}

TYPED_TEST_P(CommitDraft, OfSomeTokensFreesTheOtherBlocks) {
  CacheDriver d = this->Make(kWithDrafts);
  d.Append({0}, {6});
  d.BeginDraft({0}, {10});  // blocks 3 and 4
  EXPECT_EQ(d.CommitDraft({0}, {6}), Statuses({kOk}));
  EXPECT_EQ(d.Length(0), 12);
  EXPECT_EQ(d.Row(0), Ids({1, 2, 3}));
  ExpectSound(d, 97);
}

TYPED_TEST_P(CommitDraft, OfNoTokensKeepsNothing) {
  CacheDriver d = this->Make(kWithDrafts);
  ShareATail(d, 6);
  d.Append({2}, {6});
  d.BeginDraft({0, 2}, {10, 5}, {1, 3});
  const uint32_t generation = d.Sequence(0).generation;
  EXPECT_EQ(d.CommitDraft({0, 2}, {0, 0}, {0, 2}), Statuses({kOk, kOk}));
  EXPECT_EQ(d.Length(0), 6);
  EXPECT_EQ(d.Row(0), Ids({1, 2}));
  EXPECT_EQ(d.Block(2).references, 2);
  EXPECT_EQ(d.Sequence(0).generation, generation);
  ExpectSound(d, 96);
}

TYPED_TEST_P(CommitDraft, OfOneBranchFreesTheOthersAndTheTail) {
  CacheDriver d = this->Make(kWithDrafts);
  d.Append({0}, {6});
  d.BeginDraft({0}, {3}, {3});  // blocks 3 .. 8
  EXPECT_EQ(d.CommitDraft({0}, {3}, {1}), Statuses({kOk}));
  EXPECT_EQ(d.Length(0), 9);
  EXPECT_EQ(d.Row(0), Ids({1, 5, 6}));
  EXPECT_EQ(d.Sequence(0).generation, 1u);
  ExpectSound(d, 97);
}

TYPED_TEST_P(CommitDraft, ReplacesASharedTail) {
  CacheDriver d = this->Make(kWithDrafts);
  ShareATail(d, 6);
  const uint32_t generation = d.Sequence(0).generation;
  d.BeginDraft({0}, {4});
  EXPECT_EQ(d.CommitDraft({0}, {1}), Statuses({kOk}));
  EXPECT_EQ(d.Row(0), Ids({1, 3}));
  EXPECT_EQ(d.Row(1), Ids({1, 2}));
  EXPECT_EQ(d.Block(2).references, 1);
  EXPECT_EQ(d.Sequence(0).generation, generation + 1);
  ExpectSound(d, 97);
}

TYPED_TEST_P(CommitDraft, ReplacesReservedBlocksAndKeepsTheOthers) {
  CacheDriver d = this->Make(kWithDrafts);
  d.Append({0}, {6});
  d.Reserve({0}, {16});
  d.BeginDraft({0}, {3}, {2});  // blocks 5 .. 8
  EXPECT_EQ(d.CommitDraft({0}, {3}, {0}), Statuses({kOk}));
  EXPECT_EQ(d.Row(0), Ids({1, 5, 6, 4}));
  EXPECT_EQ(d.Append({0}, {7}, {.slot_capacity = 7}).slots, Slots({25, 26, 27, 16, 17, 18, 19}));
  ExpectSound(d, 96);
}

TYPED_TEST_P(CommitDraft, PutsEveryTokenWhereTheDraftHadIt) {
  for (int32_t length = 4; length < 8; ++length) {
    for (const int32_t tokens : {0, 1, 3, 4, 5, 10}) {
      for (const int32_t branch : {-1, 0, 2}) {  // -1: the only one
        CacheDriver d = this->Make(kWithDrafts);
        d.Append({0}, {length});
        const int32_t branches = branch < 0 ? 1 : 3;
        const Slots slots =
            d.BeginDraft({0}, {tokens}, {branches}, {.slot_capacity = tokens * branches}).slots;
        const int32_t accepted = (tokens + 1) / 2 + length % 2 * (tokens / 2);
        const int32_t first = branch < 0 ? 0 : branch * tokens;
        EXPECT_EQ(d.CommitDraft({0}, {accepted}, {branch < 0 ? 0 : branch}), Statuses({kOk}));
        const Ids row = d.Row(0);
        EXPECT_EQ(row.size(), static_cast<size_t>(length + accepted + 3) / 4);
        for (int32_t t = 0; t < accepted; ++t) {
          const int32_t at = length + t;
          EXPECT_EQ(int64_t{row[static_cast<size_t>(at / 4)]} * 4 + at % 4,
                    slots[static_cast<size_t>(first + t)]);
        }
        ExpectSound(d, 100 - row.size());
      }
    }
  }
}

TYPED_TEST_P(CommitDraft, OfARowThatStandsTwiceTakesTheFirstGoodMention) {
  CacheDriver d = this->Make(kWithDrafts);
  d.Append({0, 1, 2, 3}, {6, 6, 6, 6});
  const auto begin = [&] { d.BeginDraft({0, 1, 2, 3}, {3, 3, 3, 3}); };
  begin();
  EXPECT_EQ(d.CommitDraft({0, 1, 2, 3, 1, 0, 2, 3}, {1, 2, 0, 1, 1, 3, 9, 1}),
            Statuses({kOk, kOk, kOk, kOk, kWrongState, kWrongState, kInvalid, kWrongState}));
  EXPECT_EQ(d.Length(0), 7);
  EXPECT_EQ(d.Length(1), 8);
  EXPECT_EQ(d.Length(2), 6);
  begin();
  // One is not good, so that the second mention is; and the others must not change that.
  EXPECT_EQ(d.CommitDraft({0, 0, 1, 1, 1}, {9, 2, 1, 3, 2}),
            Statuses({kInvalid, kOk, kOk, kWrongState, kWrongState}));
  EXPECT_EQ(d.Length(0), 9);
  EXPECT_EQ(d.Length(1), 9);
  EXPECT_TRUE(d.Sequence(3).drafting);
  ExpectSound(d, 88);
}

TYPED_TEST_P(CommitDraft, ThatIsInvalidLeavesTheDraftOpen) {
  CacheDriver d = this->Make(kWithDrafts);
  d.Append({0, 1}, {6, 6});
  d.BeginDraft({0, 1}, {3, 4}, {2, 1});
  ExpectChangesNothing(d, [&] {
    EXPECT_EQ(d.CommitDraft({0, 1}, {4, 5}), Statuses({kInvalid, kInvalid}));
    EXPECT_EQ(d.CommitDraft({0, 1}, {-1, -1}), Statuses({kInvalid, kInvalid}));
    EXPECT_EQ(d.CommitDraft({0, 1}, {1, 1}, {2, 1}), Statuses({kInvalid, kInvalid}));
    EXPECT_EQ(d.CommitDraft({0, 1}, {1, 1}, {-1, 99}), Statuses({kInvalid, kInvalid}));
  });
  EXPECT_EQ(d.CommitDraft({0, 1}, {3, 4}, {1, 0}), Statuses({kOk, kOk}));
}

TYPED_TEST_P(CommitDraft, WithoutADraftIsWrongState) {
  CacheDriver d = this->Make(kWithDrafts);
  d.Append({0, 1}, {6, 6});
  d.BeginDraft({1}, {1});
  d.CommitDraft({1}, {1});
  ExpectChangesNothing(d, [&] {
    EXPECT_EQ(d.CommitDraft({0, 1, 2, 8, -1}, {0, 0, 0, 0, 0}),
              Statuses({kWrongState, kWrongState, kClosed, kInvalid, kInvalid}));
    EXPECT_EQ(d.AbortDraft({0, 1, 2}), Statuses({kWrongState, kWrongState, kClosed}));
  });
}

TYPED_TEST_P(CommitDraft, OfAWholeBatchIsAllOrNone) {
  CacheDriver d = this->Make(kWithDrafts);
  d.Append({0, 1, 2}, {6, 6, 6});
  d.BeginDraft({0, 1}, {5, 5}, {2, 1});
  const RowSettings whole = {.failure = FailureMode::kWholeBatch};
  ExpectChangesNothing(d, [&] {
    EXPECT_EQ(d.CommitDraft({0, 1, 2}, {5, 5, 0}, {}, whole),
              Statuses({kCancelled, kCancelled, kWrongState}));
    EXPECT_EQ(d.CommitDraft({0, 1}, {5, 6}, {}, whole), Statuses({kCancelled, kInvalid}));
    EXPECT_EQ(d.CommitDraft({0, 1, 0}, {5, 5, 5}, {}, whole),
              Statuses({kCancelled, kCancelled, kWrongState}));
    EXPECT_EQ(d.AbortDraft({2, 0}, whole), Statuses({kWrongState, kCancelled}));
  });
  EXPECT_EQ(d.CommitDraft({0, 1}, {5, 5}, {1, 0}, whole), Statuses({kOk, kOk}));
  ExpectSound(d, 92);
}

TYPED_TEST_P(CommitDraft, StopsAtTheCount) {
  CacheDriver d = this->Make(kWithDrafts);
  d.Append({0, 1}, {6, 6});
  d.BeginDraft({0, 1}, {5, 5});
  EXPECT_EQ(d.CommitDraft({0, 1}, {5, 5}, {}, {.count = 1}), Statuses({kOk, kUnwritten}));
  EXPECT_TRUE(d.Sequence(1).drafting);
}

TYPED_TEST_P(CommitDraft, AbortFreesTheWholeDraft) {
  CacheDriver d = this->Make(kWithDrafts);
  ShareATail(d, 6);
  d.BeginDraft({0, 1}, {10, 10}, {3, 1});
  EXPECT_EQ(d.AbortDraft({1, 0}), Statuses({kOk, kOk}));
  EXPECT_EQ(d.Length(0), 6);
  EXPECT_EQ(d.Row(0), Ids({1, 2}));
  ExpectSound(d, 98);
  EXPECT_EQ(d.AbortDraft({0}), Statuses({kWrongState}));
  EXPECT_EQ(d.BeginDraft({0}, {1}).statuses, Statuses({kOk}));
}

TYPED_TEST_P(CommitDraft, TellsThatSomebodyReleasedABlockOfTheDraft) {
  CacheDriver d = this->Make(kWithDrafts);
  d.Append({0, 1}, {4, 4});
  d.BeginDraft({0, 1}, {1, 5}, {2, 1});  // blocks 3 and 4; 5 and 6
  EXPECT_EQ(d.Release({4, 6}), Statuses({kOk, kOk}));
  EXPECT_EQ(d.CommitDraft({0, 1}, {1, 1}), Statuses({kDoubleFree, kDoubleFree}));
  EXPECT_EQ(d.Row(0), Ids({1, 3}));
  EXPECT_EQ(d.Row(1), Ids({2, 5}));
  ExpectSound(d, 96);
}

TYPED_TEST_P(CommitDraft, LeavesABlockToTheCallerThatHoldsItToo) {
  CacheDriver d = this->Make(kWithDrafts);
  d.Append({0}, {4});
  d.BeginDraft({0}, {1}, {2});  // blocks 2 and 3
  EXPECT_EQ(d.Share({2, 3}), Statuses({kOk, kOk}));
  EXPECT_EQ(d.Audit().outside_blocks, 2u);
  ExpectSound(d, 97);
  EXPECT_EQ(d.CommitDraft({0}, {1}), Statuses({kOk}));
  EXPECT_EQ(d.Block(2).references, 2);
  EXPECT_EQ(d.Block(3).references, 1);
  EXPECT_EQ(d.Release({2, 3}), Statuses({kOk, kOk}));
  ExpectSound(d, 98);
}

TYPED_TEST_P(CommitDraft, NeedsOptionsThatAllowDrafts) {
  CacheDriver d = this->Make();
  int32_t row = 0, tokens = 0;
  OpStatus status = kUnwritten;
  TokenMove move;
  const RowBatch batch = {.rows = &row, .num_rows = 1, .statuses = &status};
  const auto code = absl::StatusCode::kInvalidArgument;
  EXPECT_EQ(d.cache().BeginDraft(d.stream(), {batch, &tokens}).code(), code);
  EXPECT_EQ(d.cache().CommitDraft(d.stream(), {batch, &tokens}).code(), code);
  EXPECT_EQ(d.cache().AbortDraft(d.stream(), {batch}).code(), code);
  EXPECT_EQ(d.cache().CompactDraft(d.stream(), {batch, &tokens, &tokens, nullptr, &move}).code(),
            code);
}

REGISTER_TYPED_TEST_SUITE_P(CommitDraft, OfAllTokensKeepsTheirBlocks,
                            OfSomeTokensFreesTheOtherBlocks, OfNoTokensKeepsNothing,
                            OfOneBranchFreesTheOthersAndTheTail, ReplacesASharedTail,
                            ReplacesReservedBlocksAndKeepsTheOthers,
                            PutsEveryTokenWhereTheDraftHadIt,
                            OfARowThatStandsTwiceTakesTheFirstGoodMention,
                            ThatIsInvalidLeavesTheDraftOpen, WithoutADraftIsWrongState,
                            OfAWholeBatchIsAllOrNone, StopsAtTheCount, AbortFreesTheWholeDraft,
                            TellsThatSomebodyReleasedABlockOfTheDraft,
                            LeavesABlockToTheCallerThatHoldsItToo, NeedsOptionsThatAllowDrafts);

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_CONFORMANCE_COMMIT_SUITE_H_
