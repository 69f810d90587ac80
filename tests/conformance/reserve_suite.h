// SPDX-License-Identifier: Apache-2.0
//
// tests/conformance/reserve_suite.h
//
// Reserve: capacity without length.

#ifndef KVPAGE_TESTS_CONFORMANCE_RESERVE_SUITE_H_
#define KVPAGE_TESTS_CONFORMANCE_RESERVE_SUITE_H_

#include "tests/conformance/fixture.h"

namespace kvpage::test {

template <class Backend>
class Reserve : public ConformanceTest<Backend> {};

TYPED_TEST_SUITE_P(Reserve);

TYPED_TEST_P(Reserve, GivesCapacityAndNoLength) {
  CacheDriver d = this->Make();
  EXPECT_EQ(d.Reserve({3}, {9}), Statuses({kOk}));
  EXPECT_EQ(d.Row(3), Ids({1, 2, 3}));
  EXPECT_EQ(d.Length(3), 0);
  EXPECT_TRUE(d.Sequence(3).open);
  ExpectSound(d, 97);
}

TYPED_TEST_P(Reserve, LessThanHeldIsOkAndChangesNothing) {
  CacheDriver d = this->Make();
  d.Reserve({0}, {20});
  ExpectChangesNothing(d, [&] {
    EXPECT_EQ(d.Reserve({0}, {16}), Statuses({kOk}));
    EXPECT_EQ(d.Reserve({0}, {17}), Statuses({kOk}));
    EXPECT_EQ(d.Reserve({0}, {0}), Statuses({kOk}));
  });
  EXPECT_EQ(d.Held(0), 5u);
}

TYPED_TEST_P(Reserve, OfNothingOpensTheRow) {
  CacheDriver d = this->Make();
  EXPECT_EQ(d.Reserve({0}, {0}), Statuses({kOk}));
  EXPECT_TRUE(d.Sequence(0).open);
  EXPECT_EQ(d.Held(0), 0u);
}

TYPED_TEST_P(Reserve, GivesTheLowestFreeIdsInBatchOrder) {
  CacheDriver d = this->Make();
  EXPECT_EQ(d.Reserve({5, 2, 7}, {8, 1, 9}), Statuses({kOk, kOk, kOk}));
  EXPECT_EQ(d.Row(5), Ids({1, 2}));
  EXPECT_EQ(d.Row(2), Ids({3}));
  EXPECT_EQ(d.Row(7), Ids({4, 5, 6}));
  d.Close({5});
  d.Reserve({0, 7}, {4, 20});
  EXPECT_EQ(d.Row(0), Ids({1}));
  EXPECT_EQ(d.Row(7), Ids({4, 5, 6, 2, 7}));
}

TYPED_TEST_P(Reserve, GoesOnInTheNextShard) {
  CacheDriver d = this->Make(KvCacheOptions{.num_blocks = 130,
                                            .block_tokens = 1,
                                            .max_sequences = 3,
                                            .max_blocks_per_sequence = 126,
                                            .blocks_per_shard = 64});
  EXPECT_EQ(d.Reserve({0, 1, 2}, {62, 5, 63}), Statuses({kOk, kOk, kOk}));
  EXPECT_EQ(d.Row(1), Ids({63, 64, 65, 66, 67}));
  EXPECT_EQ(d.Row(2).back(), 130u);
  ExpectSound(d, 0);
}

TYPED_TEST_P(Reserve, BeyondTheRowIsTableFull) {
  CacheDriver d = this->Make();
  d.Reserve({0}, {24});
  ExpectChangesNothing(d, [&] { EXPECT_EQ(d.Reserve({0}, {25}), Statuses({kTableFull})); });
  EXPECT_EQ(d.Reserve({1}, {0x7fffffff}), Statuses({kTableFull}));
  EXPECT_FALSE(d.Sequence(1).open);
}

TYPED_TEST_P(Reserve, MoreThanThePoolNeverFits) {
  CacheDriver d = this->Make(WithBlocks(5));
  ExpectChangesNothing(d, [&] { EXPECT_EQ(d.Reserve({0}, {21}), Statuses({kNeverFits})); });
  EXPECT_EQ(d.Reserve({0}, {20}), Statuses({kOk}));
  ExpectSound(d, 0);
}

TYPED_TEST_P(Reserve, MoreThanIsFreeIsFull) {
  CacheDriver d = this->Make(WithBlocks(5));
  d.Reserve({0}, {12});
  ExpectChangesNothing(d, [&] { EXPECT_EQ(d.Reserve({1}, {12}), Statuses({kFull})); });
  EXPECT_EQ(d.Reserve({1}, {8}), Statuses({kOk}));
  ExpectSound(d, 0);
}

TYPED_TEST_P(Reserve, OpensNoRowThatFails) {
  CacheDriver d = this->Make(WithBlocks(5));
  d.Reserve({0}, {20});
  d.Reserve({1}, {1});
  EXPECT_FALSE(d.Sequence(1).open);
  EXPECT_EQ(d.WholeRow(1), Ids(6, kNullBlock));
}

REGISTER_TYPED_TEST_SUITE_P(Reserve, GivesCapacityAndNoLength, LessThanHeldIsOkAndChangesNothing,
                            OfNothingOpensTheRow, GivesTheLowestFreeIdsInBatchOrder,
                            GoesOnInTheNextShard, BeyondTheRowIsTableFull, MoreThanThePoolNeverFits,
                            MoreThanIsFreeIsFull, OpensNoRowThatFails);

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_CONFORMANCE_RESERVE_SUITE_H_
