// SPDX-License-Identifier: Apache-2.0
//
// tests/conformance/append_suite.h
//
// Append: length, blocks, and the slot of every new token.

#ifndef KVPAGE_TESTS_CONFORMANCE_APPEND_SUITE_H_
#define KVPAGE_TESTS_CONFORMANCE_APPEND_SUITE_H_

#include "tests/conformance/fixture.h"

namespace kvpage::test {

template <class Backend>
class Append : public ConformanceTest<Backend> {};

TYPED_TEST_SUITE_P(Append);

TYPED_TEST_P(Append, GrowsTheLengthAndNamesTheSlots) {
  CacheDriver d = this->Make();
  RowResults r = d.Append({1}, {6}, {.slot_capacity = 6});
  EXPECT_EQ(r.statuses, Statuses({kOk}));
  EXPECT_EQ(r.slots, Slots({4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(r.copies, Copies({BlockCopy{}}));
  EXPECT_EQ(d.Length(1), 6);
  r = d.Append({1}, {3}, {.slot_capacity = 3});
  EXPECT_EQ(r.slots, Slots({10, 11, 12}));
  EXPECT_EQ(d.Row(1), Ids({1, 2, 3}));
  ExpectSound(d, 97);
}

TYPED_TEST_P(Append, UsesReservedBlocksFirst) {
  CacheDriver d = this->Make();
  d.Reserve({0}, {12});
  d.Reserve({1}, {4});
  EXPECT_EQ(d.Append({0}, {9}, {.slot_capacity = 9}).slots, Slots({4, 5, 6, 7, 8, 9, 10, 11, 12}));
  ExpectSound(d, 96);
  d.Append({0}, {7});
  EXPECT_EQ(d.Row(0), Ids({1, 2, 3, 5}));
}

TYPED_TEST_P(Append, PutsSlotsInBatchOrderAndFillsUpWithMinusOne) {
  CacheDriver d = this->Make();
  const RowResults r = d.Append({6, 2, 4}, {3, 0, 5}, {.slot_capacity = 12});
  EXPECT_EQ(r.statuses, Statuses({kOk, kOk, kOk}));
  EXPECT_EQ(r.slots, Slots({4, 5, 6, 8, 9, 10, 11, 12, -1, -1, -1, -1}));
  EXPECT_TRUE(d.Sequence(2).open);
}

TYPED_TEST_P(Append, GivesFailedRowsMinusOneInTheirPlaces) {
  CacheDriver d = this->Make(WithBlocks(5));
  const RowResults r = d.Append({0, 1, 2, 3}, {6, 25, 13, 2}, {.slot_capacity = 50});
  EXPECT_EQ(r.statuses, Statuses({kOk, kTableFull, kFull, kOk}));
  Slots expected = {4, 5, 6, 7, 8, 9};
  expected.resize(6 + 25 + 13, -1);
  expected.insert(expected.end(), {12, 13});
  expected.resize(50, -1);
  EXPECT_EQ(r.slots, expected);
  EXPECT_EQ(d.Length(2), 0);
}

// A batch of fixed shape, padded with rows that are none, keeps the slots of the others in place.
TYPED_TEST_P(Append, GivesRowsThatAreNoneMinusOneInTheirPlaces) {
  CacheDriver d = this->Make();
  const RowResults r = d.Append({0, -1, 2, 0, 8, 4}, {1, 1, 1, 1, 1, 1}, {.slot_capacity = 8});
  EXPECT_EQ(r.statuses, Statuses({kOk, kInvalid, kOk, kInvalid, kInvalid, kOk}));
  EXPECT_EQ(r.slots, Slots({4, -1, 8, -1, -1, 12, -1, -1}));
}

TYPED_TEST_P(Append, RowsWhoseSlotsDoNotFitAreInvalid) {
  CacheDriver d = this->Make();
  const RowResults r = d.Append({0, 1, 2}, {3, 4, 0}, {.slot_capacity = 6});
  EXPECT_EQ(r.statuses, Statuses({kOk, kInvalid, kOk}));
  EXPECT_EQ(r.slots, Slots({4, 5, 6, -1, -1, -1}));
  EXPECT_FALSE(d.Sequence(1).open);
  EXPECT_EQ(d.Append({1}, {1}, {.slot_capacity = 0}).statuses, Statuses({kInvalid}));
  EXPECT_EQ(d.Append({1}, {0}, {.slot_capacity = 0}).statuses, Statuses({kOk}));
}

TYPED_TEST_P(Append, NeverWritesBeyondTheSlotCapacity) {
  CacheDriver d = this->Make();
  // The driver's guards see a write beside the array.
  EXPECT_EQ(d.Append({0}, {5}, {.slot_capacity = 4}).slots, Slots(4, -1));
  EXPECT_EQ(d.Append({0}, {0x7fffffff}, {.slot_capacity = 3}).slots, Slots(3, -1));
}

TYPED_TEST_P(Append, WithoutSlotsAndCopiesIsFine) {
  CacheDriver d = this->Make();
  EXPECT_EQ(d.Append({0, 1}, {5, 4}, {.with_copies = false}).statuses, Statuses({kOk, kOk}));
  EXPECT_EQ(d.Append({0, 1}, {1, 1}, {.with_copies = false}).statuses, Statuses({kOk, kOk}));
  EXPECT_EQ(d.Length(0), 6);
  EXPECT_EQ(d.Length(1), 5);
}

TYPED_TEST_P(Append, FailsExactly) {
  CacheDriver d = this->Make(WithBlocks(5));
  EXPECT_EQ(d.Append({0}, {21}).statuses, Statuses({kNeverFits}));
  EXPECT_EQ(d.Append({0}, {25}).statuses, Statuses({kTableFull}));
  d.Append({0}, {8});
  EXPECT_EQ(d.Append({0}, {13}).statuses, Statuses({kNeverFits}));
  d.Append({1}, {4});
  ExpectChangesNothing(d, [&] { EXPECT_EQ(d.Append({0}, {9}).statuses, Statuses({kFull})); });
  EXPECT_EQ(d.Append({0}, {8}).statuses, Statuses({kOk}));
  ExpectSound(d, 0);
  EXPECT_EQ(d.Append({1}, {0}).statuses, Statuses({kOk}));
}

TYPED_TEST_P(Append, ALengthNearTheLimitDoesNotWrap) {
  CacheDriver d = this->Make();
  d.Append({0}, {23});
  ExpectChangesNothing(
      d, [&] { EXPECT_EQ(d.Append({0}, {0x7fffffff}).statuses, Statuses({kTableFull})); });
}

REGISTER_TYPED_TEST_SUITE_P(Append, GrowsTheLengthAndNamesTheSlots, UsesReservedBlocksFirst,
                            PutsSlotsInBatchOrderAndFillsUpWithMinusOne,
                            GivesFailedRowsMinusOneInTheirPlaces,
                            GivesRowsThatAreNoneMinusOneInTheirPlaces,
                            RowsWhoseSlotsDoNotFitAreInvalid, NeverWritesBeyondTheSlotCapacity,
                            WithoutSlotsAndCopiesIsFine, FailsExactly,
                            ALengthNearTheLimitDoesNotWrap);

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_CONFORMANCE_APPEND_SUITE_H_
