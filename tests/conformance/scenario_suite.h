// SPDX-License-Identifier: Apache-2.0
//
// tests/conformance/scenario_suite.h
//
// What goes wrong in block managers that people use, as small scenarios with the result that is
// right. Each test says what must not happen.

#ifndef KVPAGE_TESTS_CONFORMANCE_SCENARIO_SUITE_H_
#define KVPAGE_TESTS_CONFORMANCE_SCENARIO_SUITE_H_

#include <algorithm>

#include "tests/conformance/fixture.h"

namespace kvpage::test {

template <class Backend>
class Scenario : public ConformanceTest<Backend> {};

TYPED_TEST_SUITE_P(Scenario);

// Blocks of `block_tokens`, and what else a scenario names.
inline KvCacheOptions ScenarioOptions(uint32_t num_blocks, uint32_t block_tokens,
                                      uint32_t row_blocks, uint32_t rows = 10) {
  return {.num_blocks = num_blocks,
          .block_tokens = block_tokens,
          .max_sequences = rows,
          .max_blocks_per_sequence = row_blocks};
}

TYPED_TEST_P(Scenario, AnIdRepeatedInOneReleaseIsNotQueuedTwice) {
  CacheDriver d = this->Make(ScenarioOptions(4, 16, 4));
  d.Append({0}, {16});
  d.Share({1, 1});
  d.Close({0});  // two references are left, both the caller's
  EXPECT_EQ(d.Release({1, 1}), Statuses({kOk, kOk}));
  ExpectSound(d, 4);
  EXPECT_EQ(d.Reserve({0}, {64}), Statuses({kOk}));
  EXPECT_EQ(d.Row(0), Ids({1, 2, 3, 4}));
  EXPECT_EQ(d.Reserve({1}, {1}), Statuses({kFull}));
}

TYPED_TEST_P(Scenario, AnIdRepeatedMoreOftenThanItIsHeldChangesNothing) {
  CacheDriver d = this->Make(ScenarioOptions(4, 16, 4));
  d.Append({0}, {16});
  d.Share({1});
  d.Close({0});
  EXPECT_EQ(d.Release({1, 1}), Statuses({kCancelled, kDoubleFree}));
  EXPECT_EQ(d.Block(1).references, 1);
  ExpectSound(d, 3);
}

TYPED_TEST_P(Scenario, GrowingToLessThanIsHeldIsNotANegativeRequest) {
  CacheDriver d = this->Make(ScenarioOptions(8, 16, 8));
  d.Reserve({0}, {80});
  EXPECT_EQ(d.Reserve({0}, {64}), Statuses({kOk}));
  EXPECT_EQ(d.Held(0), 5u);
  EXPECT_EQ(d.Reserve({0, 1}, {-1, -1}), Statuses({kInvalid, kInvalid}));
  ExpectSound(d, 3);
}

TYPED_TEST_P(Scenario, NullPlaceholdersNeverReachTheFreeBlocks) {
  CacheDriver d = this->Make(ScenarioOptions(4, 16, 4));
  EXPECT_EQ(d.Release({kNullBlock, kNullBlock}), Statuses({kOk, kOk}));
  ExpectSound(d, 4);
  d.Reserve({0}, {64});
  EXPECT_EQ(d.Row(0), Ids({1, 2, 3, 4}));
}

TYPED_TEST_P(Scenario, ManyForksOfOneRowFreeEachBlockOnce) {
  CacheDriver d = this->Make(ScenarioOptions(4, 16, 4));
  d.Append({0}, {32});
  d.Fork({1, 2, 3, 4, 5, 6, 7, 8}, Rows(8, 0), Tokens(8, 32));
  EXPECT_EQ(d.Block(1).references, 9);
  for (int32_t row = 8; row >= 0; --row) {
    EXPECT_EQ(d.Close({row}), Statuses({kOk}));
    ExpectSound(d, row == 0 ? 4 : 2);
  }
}

TYPED_TEST_P(Scenario, AListThatRepeatsItsBlocksFreesEachOnce) {
  CacheDriver d = this->Make(ScenarioOptions(4, 16, 4));
  d.Append({0}, {32});
  const Ids window = {1, 2, 1, 2};
  for (int i = 0; i < 8; ++i) EXPECT_EQ(d.Share(window), Statuses(4, kOk));
  d.Close({0});
  for (int i = 0; i < 8; ++i) {
    ExpectSound(d, 2);
    EXPECT_EQ(d.Release(window), Statuses(4, kOk));
  }
  ExpectSound(d, 4);
  EXPECT_EQ(d.Release(window), Statuses(4, kDoubleFree));
}

TYPED_TEST_P(Scenario, ASecondReleaseIsToldAtOnceAndNotToALaterRequest) {
  CacheDriver d = this->Make(ScenarioOptions(4, 16, 4));
  d.Append({0}, {16});
  d.Share({1});
  d.Close({0});
  EXPECT_EQ(d.Release({1}), Statuses({kOk}));
  EXPECT_EQ(d.Release({1}), Statuses({kDoubleFree}));
  EXPECT_EQ(d.Reserve({1}, {64}), Statuses({kOk}));
  ExpectSound(d, 0);
}

TYPED_TEST_P(Scenario, ChurnNeverHandsABlockOutTwice) {
  CacheDriver d = this->Make(ScenarioOptions(40, 4, 16));
  for (int32_t round = 0; round < 6; ++round) {
    Rows rows;
    Tokens tokens;
    for (int32_t row = 0; row < 10; ++row) {
      rows.push_back((row + round) % 10);
      tokens.push_back(1 + (row * 7 + round * 5) % 40);
    }
    d.Append(rows, tokens);
    Ids held;
    for (int32_t row = 0; row < 10; ++row) {
      const Ids ids = d.Row(row);
      held.insert(held.end(), ids.begin(), ids.end());
    }
    const size_t count = held.size();
    EXPECT_GT(count, 20u);
    std::sort(held.begin(), held.end());
    held.erase(std::unique(held.begin(), held.end()), held.end());
    EXPECT_EQ(held.size(), count) << "a block has two owners";
    ExpectSound(d, 40 - count);
    d.Close({rows[0], rows[3], rows[4], rows[8], rows[9]});
  }
}

TYPED_TEST_P(Scenario, AnEmptyPoolIsNoticed) {
  CacheDriver d = this->Make(ScenarioOptions(4, 16, 4));
  d.Append({1}, {64});
  EXPECT_EQ(d.Append({2}, {1}).statuses, Statuses({kFull}));
  EXPECT_EQ(d.WholeRow(2), Ids(4, kNullBlock));
  EXPECT_EQ(d.WholeRow(1), Ids({1, 2, 3, 4}));
  EXPECT_EQ(d.Length(1), 64);
}

TYPED_TEST_P(Scenario, TheTailOfTheLastBlockIsNotStranded) {
  CacheDriver d = this->Make(ScenarioOptions(8, 64, 8));
  d.Append({0}, {70});
  EXPECT_EQ(d.Held(0), 2u);
  d.Append({0}, {8});
  EXPECT_EQ(d.Held(0), 2u);
  d.Truncate({0}, {65});
  ExpectSound(d, 6);
  d.Truncate({0}, {64});
  ExpectSound(d, 7);
  d.Close({0});
  ExpectSound(d, 8);
}

TYPED_TEST_P(Scenario, RejectedDraftsLeakNothing) {
  CacheDriver d = this->Make(ScenarioOptions(8, 64, 8));
  d.Append({0}, {63});
  for (int round = 0; round < 10; ++round) {
    d.Append({0}, {130});
    EXPECT_EQ(d.Truncate({0}, {63}), Statuses({kOk}));
    ExpectSound(d, 7);
  }
  d.Close({0});
  ExpectSound(d, 8);
}

TYPED_TEST_P(Scenario, AReservationWiderThanTheRowIsNotClamped) {
  CacheDriver d = this->Make(ScenarioOptions(100, 16, 64));
  d.Reserve({0}, {1024});
  EXPECT_EQ(d.Reserve({0}, {1027}), Statuses({kTableFull}));
  EXPECT_EQ(d.Held(0), 64u);
  EXPECT_EQ(d.Reserve({0}, {1024}), Statuses({kOk}));
  d.Close({0});
  ExpectSound(d, 100);
}

TYPED_TEST_P(Scenario, TokensBeyondTheLastColumnAreNeverWritten) {
  CacheDriver d = this->Make(ScenarioOptions(100, 16, 64));
  d.Append({0}, {1023});
  const RowResults r = d.Append({0}, {4}, {.slot_capacity = 4});
  EXPECT_EQ(r.statuses, Statuses({kTableFull}));
  EXPECT_EQ(r.slots, Slots(4, -1));
  EXPECT_EQ(d.Length(0), 1023);
  EXPECT_EQ(d.WholeRow(1), Ids(64, kNullBlock));  // column 64 of row 0
  EXPECT_EQ(d.Append({0}, {1}, {.slot_capacity = 1}).slots, Slots({64 * 16 + 15}));
}

TYPED_TEST_P(Scenario, BlocksThatAreSharedAlreadyAreNotSubtractedFromWhatIsFree) {
  CacheDriver d = this->Make(ScenarioOptions(5, 16, 8));
  d.Append({0}, {32});
  d.Fork({1}, {0}, {32});
  EXPECT_EQ(d.Reserve({1}, {96}), Statuses({kNeverFits}));
  d.Reserve({2}, {16});
  ExpectChangesNothing(d, [&] { EXPECT_EQ(d.Reserve({1}, {80}), Statuses({kFull})); });
  EXPECT_EQ(d.Block(1).references, 2);
  d.Close({2});
  EXPECT_EQ(d.Reserve({1}, {80}), Statuses({kOk}));  // 2 shared and the 3 free ones
  EXPECT_EQ(d.Row(1), Ids({1, 2, 3, 4, 5}));
  ExpectSound(d, 0);
}

TYPED_TEST_P(Scenario, WritingOneBlockLeavesItsNeighboursAlone) {
  CacheDriver d = this->Make(ScenarioOptions(4, 4, 4));
  GuardedArena arena(*d.access().shared, 1 << 14);
  // K and V of two heads packed in each block; block 1 is all zero and is copied over block 2.
  constexpr int64_t kBlockBytes = 2 * 2 * 4 * 24;
  std::vector<uint8_t> before(5 * kBlockBytes, 0xc3);
  std::fill_n(before.begin() + kBlockBytes, kBlockBytes, uint8_t{0});
  std::vector<uint8_t> expected = before;
  std::fill_n(expected.begin() + 2 * kBlockBytes, kBlockBytes, uint8_t{0});
  uint8_t* const data = arena.Take(before);
  const KvTensor tensor = {.data = data,
                           .block_stride = kBlockBytes,
                           .num_heads = 4,
                           .head_stride = 4 * 24,
                           .token_stride = 24,
                           .head_bytes = 24};
  const BlockCopy* copies = arena.Take(Copies({{1, 2, 4}}));
  EXPECT_TRUE(d.cache().CopyBlocks(d.stream(), copies, 1, {&tensor, 1}).ok());
  EXPECT_TRUE(d.cache().Synchronize(d.stream()).ok());
  EXPECT_EQ(std::vector<uint8_t>(data, data + before.size()), expected);
  EXPECT_TRUE(arena.Reset());
}

TYPED_TEST_P(Scenario, TwoRowsThatDoNotFitTogetherDoNotLockEachOtherOut) {
  CacheDriver d = this->Make(ScenarioOptions(7, 16, 8));
  EXPECT_EQ(d.Reserve({0}, {80}), Statuses({kOk}));
  EXPECT_EQ(d.Reserve({1}, {64}), Statuses({kFull}));
  EXPECT_EQ(d.Held(1), 0u);
  ExpectSound(d, 2);
  d.Close({0});
  EXPECT_EQ(d.Reserve({1}, {64}), Statuses({kOk}));
}

TYPED_TEST_P(Scenario, ARequestLargerThanThePoolIsNotToldToWait) {
  CacheDriver d = this->Make(ScenarioOptions(4, 16, 8));
  EXPECT_EQ(d.Reserve({0}, {5 * 16}), Statuses({kNeverFits}));
  d.Reserve({1}, {64});
  EXPECT_EQ(d.Reserve({0}, {5 * 16}), Statuses({kNeverFits}));
  EXPECT_EQ(d.Reserve({0}, {4 * 16}), Statuses({kFull}));
}

TYPED_TEST_P(Scenario, StaleIdsInTheTailOfARowAliasNobody) {
  CacheDriver d = this->Make(ScenarioOptions(8, 16, 8));
  d.Append({0}, {80});
  d.Close({0});
  d.Append({0}, {32});
  EXPECT_EQ(d.WholeRow(0), Ids({1, 2, 0, 0, 0, 0, 0, 0}));
  // A batch of 3 rows in a graph that was captured for 8.
  const Rows padded = {0, 1, 2, -1, -1, -1, -1, -1};
  const RowResults r = d.Append(padded, Tokens(8, 1), {.count = 3, .slot_capacity = 8});
  EXPECT_EQ(r.slots, Slots({3 * 16, 4 * 16, 5 * 16, -1, -1, -1, -1, -1}));
}

TYPED_TEST_P(Scenario, ScatteredFreeBlocksAreAsGoodAsNeighbours) {
  CacheDriver d = this->Make(ScenarioOptions(8, 16, 8));
  d.Reserve({0, 1, 2, 3, 4, 5, 6, 7}, Tokens(8, 16));
  d.Close({0, 2, 4, 6});
  EXPECT_EQ(d.Reserve({8}, {64}), Statuses({kOk}));
  EXPECT_EQ(d.Row(8), Ids({1, 3, 5, 7}));
  ExpectSound(d, 0);
}

REGISTER_TYPED_TEST_SUITE_P(
    Scenario, AnIdRepeatedInOneReleaseIsNotQueuedTwice,
    AnIdRepeatedMoreOftenThanItIsHeldChangesNothing, GrowingToLessThanIsHeldIsNotANegativeRequest,
    NullPlaceholdersNeverReachTheFreeBlocks, ManyForksOfOneRowFreeEachBlockOnce,
    AListThatRepeatsItsBlocksFreesEachOnce, ASecondReleaseIsToldAtOnceAndNotToALaterRequest,
    ChurnNeverHandsABlockOutTwice, AnEmptyPoolIsNoticed, TheTailOfTheLastBlockIsNotStranded,
    RejectedDraftsLeakNothing, AReservationWiderThanTheRowIsNotClamped,
    TokensBeyondTheLastColumnAreNeverWritten,
    BlocksThatAreSharedAlreadyAreNotSubtractedFromWhatIsFree,
    WritingOneBlockLeavesItsNeighboursAlone, TwoRowsThatDoNotFitTogetherDoNotLockEachOtherOut,
    ARequestLargerThanThePoolIsNotToldToWait, StaleIdsInTheTailOfARowAliasNobody,
    ScatteredFreeBlocksAreAsGoodAsNeighbours);

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_CONFORMANCE_SCENARIO_SUITE_H_
