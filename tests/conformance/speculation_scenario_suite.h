// SPDX-License-Identifier: Apache-2.0
//
// tests/conformance/speculation_scenario_suite.h
//
// What goes wrong in block managers that people use (see scenario_suite.h), where blocks are given
// back while work is under way, and where tokens are speculative.

#ifndef KVPAGE_TESTS_CONFORMANCE_SPECULATION_SCENARIO_SUITE_H_
#define KVPAGE_TESTS_CONFORMANCE_SPECULATION_SCENARIO_SUITE_H_

#include "tests/conformance/fixture.h"

namespace kvpage::test {

template <class Backend>
class Speculation : public ConformanceTest<Backend> {};

TYPED_TEST_SUITE_P(Speculation);

inline KvCacheOptions SpeculationOptions(uint32_t num_blocks, uint32_t block_tokens,
                                         uint32_t row_blocks, uint32_t draft_tokens = 8,
                                         uint32_t draft_branches = 4) {
  return {.num_blocks = num_blocks,
          .block_tokens = block_tokens,
          .max_sequences = 8,
          .max_blocks_per_sequence = row_blocks,
          .max_draft_tokens = draft_tokens,
          .max_draft_branches = draft_branches};
}

TYPED_TEST_P(Speculation, BlocksThatAStepStillWritesAreNotHandedOut) {
  CacheDriver d = this->Make(SpeculationOptions(1, 16, 4));
  d.Append({0}, {1});
  EXPECT_EQ(d.Close({0}, {.fence = 2}), Statuses({kOk}));
  ExpectSound(d, 0, 1);
  EXPECT_EQ(d.Reserve({1}, {1}), Statuses({kRetryAfterFence}));
  d.Signal(1);
  EXPECT_EQ(d.Reserve({1}, {1}), Statuses({kRetryAfterFence}));
  d.Signal(2);
  EXPECT_EQ(d.Reserve({1}, {1}), Statuses({kOk}));
}

TYPED_TEST_P(Speculation, TheLengthIsTheSettledOneWhileADraftIsOpen) {
  CacheDriver d = this->Make(SpeculationOptions(8, 32, 8));
  d.Append({0}, {158});
  d.BeginDraft({0}, {1});
  EXPECT_EQ(d.Length(0), 158);
  d.CommitDraft({0}, {1});
  EXPECT_EQ(d.Length(0), 159);
}

TYPED_TEST_P(Speculation, PendingBlocksComeBackWithoutAnotherStep) {
  CacheDriver d = this->Make(SpeculationOptions(4, 16, 4));
  d.Append({0}, {64});
  d.Close({0}, {.fence = 1});
  EXPECT_EQ(d.Append({1}, {1}).statuses, Statuses({kRetryAfterFence}));
  d.Signal(1);  // no step runs, and nobody polls
  EXPECT_EQ(d.Append({1}, {64}).statuses, Statuses({kOk}));
  d.Close({1}, {.fence = 2});
  d.Signal(2);
  d.Poll();
  ExpectSound(d, 4);
}

TYPED_TEST_P(Speculation, ClosingFreesWhatWasWrittenAheadOfTheAcceptedTokens) {
  CacheDriver d = this->Make(SpeculationOptions(8, 4, 8));
  d.Append({0}, {8});
  d.BeginDraft({0}, {1});
  d.Close({0});
  ExpectSound(d, 8);
}

TYPED_TEST_P(Speculation, TwoPathsThatFinishARowFreeItOnce) {
  CacheDriver d = this->Make(SpeculationOptions(8, 4, 8));
  d.Append({0}, {8});
  d.BeginDraft({0}, {5});
  EXPECT_EQ(d.Close({0}, {.fence = 1}), Statuses({kOk}));
  ExpectChangesNothing(d, [&] {
    EXPECT_EQ(d.Close({0}, {.fence = 1}), Statuses({kClosed}));
    EXPECT_EQ(d.CommitDraft({0}, {1}), Statuses({kClosed}));
    EXPECT_EQ(d.AbortDraft({0}), Statuses({kClosed}));
  });
  ExpectSound(d, 4, 4);
}

TYPED_TEST_P(Speculation, TheTailOfTheLastBlockIsNotStranded) {
  CacheDriver d = this->Make(SpeculationOptions(8, 64, 8));
  d.Append({0}, {70});
  d.BeginDraft({0}, {8});
  ExpectSound(d, 6);
  d.CommitDraft({0}, {8});
  EXPECT_EQ(d.Held(0), 2u);
  d.Truncate({0}, {65});
  ExpectSound(d, 6);
  d.Truncate({0}, {64});
  ExpectSound(d, 7);
  d.Close({0});
  ExpectSound(d, 8);
}

TYPED_TEST_P(Speculation, RejectedDraftsLeakNothing) {
  CacheDriver d = this->Make(SpeculationOptions(12, 4, 8));
  d.Append({0}, {7});
  for (int round = 0; round < 10; ++round) {
    const int32_t branches = 1 + round % 3;
    EXPECT_EQ(d.BeginDraft({0}, {6}, {branches}).statuses, Statuses({kOk}));
    EXPECT_EQ(d.CommitDraft({0}, {0}, {branches - 1}, {.fence = static_cast<uint64_t>(round)}),
              Statuses({kOk}));
    if (round > 0) d.Signal(static_cast<uint64_t>(round));
    d.Poll();
    ExpectSound(d, 10);
  }
  d.Close({0});
  ExpectSound(d, 12);
}

TYPED_TEST_P(Speculation, ADraftWiderThanTheRowIsNotClamped) {
  CacheDriver d = this->Make(SpeculationOptions(100, 16, 64));
  d.Append({0}, {1020});
  ExpectChangesNothing(
      d, [&] { EXPECT_EQ(d.BeginDraft({0}, {7}, {4}).statuses, Statuses({kTableFull})); });
  EXPECT_EQ(d.Held(0), 64u);
  EXPECT_EQ(d.BeginDraft({0}, {4}, {4}).statuses, Statuses({kOk}));
  EXPECT_EQ(d.CommitDraft({0}, {4}, {3}), Statuses({kOk}));
  d.Close({0});
  ExpectSound(d, 100);
}

TYPED_TEST_P(Speculation, DraftTokensBeyondTheLastColumnAreNeverWritten) {
  CacheDriver d = this->Make(SpeculationOptions(100, 16, 64));
  d.Append({0}, {1023});
  const RowResults r = d.BeginDraft({0}, {4}, {}, {.slot_capacity = 4});
  EXPECT_EQ(r.statuses, Statuses({kTableFull}));
  EXPECT_EQ(r.slots, Slots(4, -1));
  EXPECT_EQ(d.WholeRow(1), Ids(64, kNullBlock));  // column 64 of row 0
  EXPECT_EQ(d.BeginDraft({0}, {1}, {}, {.slot_capacity = 1}).slots, Slots({64 * 16 + 15}));
  EXPECT_EQ(d.CommitDraft({0}, {1}), Statuses({kOk}));
  EXPECT_EQ(d.WholeRow(1), Ids(64, kNullBlock));
}

TYPED_TEST_P(Speculation, ABlockIsFullOnlyOnceItsTokensAreAccepted) {
  CacheDriver d = this->Make(SpeculationOptions(8, 16, 8));
  d.Append({0}, {14});
  d.BeginDraft({0}, {4});
  EXPECT_EQ(d.Length(0) / 16, 0);
  d.CommitDraft({0}, {2});
  EXPECT_EQ(d.Length(0) / 16, 1);
  EXPECT_EQ(d.Row(0), Ids({1}));
  ExpectSound(d, 7);
}

TYPED_TEST_P(Speculation, TheBonusTokenCountsOnceItHasBeenWritten) {
  CacheDriver d = this->Make(SpeculationOptions(8, 16, 8));
  d.Append({0}, {13});
  // The last token and 4 guesses are written; it and 2 of them are accepted. The token sampled
  // after those has no KV yet.
  d.BeginDraft({0}, {5});
  d.CommitDraft({0}, {3});
  EXPECT_EQ(d.Length(0), 16);
}

TYPED_TEST_P(Speculation, AHandleToARewoundBlockIsStale) {
  CacheDriver d = this->Make(SpeculationOptions(8, 32, 8));
  d.Append({0}, {31});
  d.BeginDraft({0}, {4});
  EXPECT_EQ(d.Append({1}, {1}).statuses, Statuses({kOk}));
  const uint32_t generation = d.Block(2).generation;
  d.CommitDraft({0}, {0});
  EXPECT_EQ(d.Share({2}, {.generations = {{generation}}}), Statuses({kStale}));
  EXPECT_EQ(d.BeginDraft({0}, {4}, {}, {.slot_capacity = 4}).slots, Slots({63, 64, 65, 66}));
  ExpectChangesNothing(d, [&] {
    EXPECT_EQ(d.Share({2}, {.generations = {{generation}}}), Statuses({kStale}));
    EXPECT_EQ(d.Release({2}, {.generations = {{generation}}}), Statuses({kStale}));
  });
}

TYPED_TEST_P(Speculation, NegativeNumbersAreInvalid) {
  CacheDriver d = this->Make(SpeculationOptions(8, 4, 8));
  d.Append({0, 1}, {6, 6});
  d.BeginDraft({1}, {5});
  ExpectChangesNothing(d, [&] {
    EXPECT_EQ(d.BeginDraft({0, 0}, {-64, 1}, {1, -1}).statuses, Statuses({kInvalid, kInvalid}));
    EXPECT_EQ(d.CommitDraft({1, 1}, {-64, 1}, {0, -1}), Statuses({kInvalid, kInvalid}));
    EXPECT_EQ(d.CompactDraft({1}, {-64}, {{0}, {{-1}}}).statuses, Statuses({kInvalid}));
    EXPECT_EQ(d.CompactDraft({1}, {1}, {{-64}, {{-1}}}).statuses, Statuses({kInvalid}));
  });
}

TYPED_TEST_P(Speculation, DraftModelAndTargetModelMayDiffer) {
  CacheDriver d = this->Make(SpeculationOptions(8, 4, 8));
  // A row for each model of one request; they accept different numbers of tokens.
  d.Append({0, 1}, {6, 5});
  d.BeginDraft({0, 1}, {5, 4});
  EXPECT_EQ(d.CommitDraft({0, 1}, {3, 4}), Statuses({kOk, kOk}));
  EXPECT_EQ(d.Length(0), 9);
  EXPECT_EQ(d.Length(1), 9);
  ExpectSound(d, 2);
}

REGISTER_TYPED_TEST_SUITE_P(Speculation, BlocksThatAStepStillWritesAreNotHandedOut,
                            TheLengthIsTheSettledOneWhileADraftIsOpen,
                            PendingBlocksComeBackWithoutAnotherStep,
                            ClosingFreesWhatWasWrittenAheadOfTheAcceptedTokens,
                            TwoPathsThatFinishARowFreeItOnce, TheTailOfTheLastBlockIsNotStranded,
                            RejectedDraftsLeakNothing, ADraftWiderThanTheRowIsNotClamped,
                            DraftTokensBeyondTheLastColumnAreNeverWritten,
                            ABlockIsFullOnlyOnceItsTokensAreAccepted,
                            TheBonusTokenCountsOnceItHasBeenWritten, AHandleToARewoundBlockIsStale,
                            NegativeNumbersAreInvalid, DraftModelAndTargetModelMayDiffer);

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_CONFORMANCE_SPECULATION_SCENARIO_SUITE_H_
