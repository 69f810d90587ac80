// SPDX-License-Identifier: Apache-2.0
//
// tests/conformance/truncate_suite.h
//
// Truncate: a shorter row, and whole blocks beyond the length released.

#ifndef KVPAGE_TESTS_CONFORMANCE_TRUNCATE_SUITE_H_
#define KVPAGE_TESTS_CONFORMANCE_TRUNCATE_SUITE_H_

#include "tests/conformance/fixture.h"

namespace kvpage::test {

template <class Backend>
class Truncate : public ConformanceTest<Backend> {};

TYPED_TEST_SUITE_P(Truncate);

TYPED_TEST_P(Truncate, ReleasesWholeBlocksBeyondTheLength) {
  CacheDriver d = this->Make();
  d.Append({0}, {19});
  EXPECT_EQ(d.Truncate({0}, {9}), Statuses({kOk}));
  EXPECT_EQ(d.Length(0), 9);
  EXPECT_EQ(d.WholeRow(0), Ids({1, 2, 3, 0, 0, 0}));
  ExpectSound(d, 97);
  EXPECT_EQ(d.Truncate({0}, {8}), Statuses({kOk}));
  EXPECT_EQ(d.Row(0), Ids({1, 2}));
  ExpectSound(d, 98);
}

TYPED_TEST_P(Truncate, ToMoreThanTheLengthReleasesReservedBlocksOnly) {
  CacheDriver d = this->Make();
  d.Append({0}, {5});
  d.Reserve({0}, {24});
  EXPECT_EQ(d.Truncate({0}, {13}), Statuses({kOk}));
  EXPECT_EQ(d.Length(0), 5);
  EXPECT_EQ(d.Row(0), Ids({1, 2, 3, 4}));
  EXPECT_EQ(d.Truncate({0}, {0x7fffffff}), Statuses({kOk}));
  EXPECT_EQ(d.Held(0), 4u);
  ExpectSound(d, 96);
}

TYPED_TEST_P(Truncate, ToNothingKeepsTheRowOpen) {
  CacheDriver d = this->Make();
  d.Append({0}, {10});
  EXPECT_EQ(d.Truncate({0}, {0}), Statuses({kOk}));
  EXPECT_TRUE(d.Sequence(0).open);
  EXPECT_EQ(d.WholeRow(0), Ids(6, kNullBlock));
  ExpectSound(d, 100);
  EXPECT_EQ(d.Append({0}, {1}, {.slot_capacity = 1}).slots, Slots({4}));
}

TYPED_TEST_P(Truncate, LeavesSharedBlocksToTheOtherRow) {
  CacheDriver d = this->Make();
  d.Append({0}, {12});
  d.Fork({1}, {0}, {12});
  EXPECT_EQ(d.Truncate({0}, {4}), Statuses({kOk}));
  EXPECT_EQ(d.Block(3).references, 1);
  EXPECT_EQ(d.Row(1), Ids({1, 2, 3}));
  ExpectSound(d, 97);
}

TYPED_TEST_P(Truncate, ManyRowsOfDifferentLengths) {
  CacheDriver d = this->Make();
  d.Append({0, 1, 2, 3}, {24, 1, 12, 9});
  EXPECT_EQ(d.Truncate({3, 0, 2, 1}, {0, 5, 12, 1}), Statuses(4, kOk));
  EXPECT_EQ(d.Held(0), 2u);
  EXPECT_EQ(d.Held(1), 1u);
  EXPECT_EQ(d.Held(2), 3u);
  EXPECT_EQ(d.Held(3), 0u);
  ExpectSound(d, 94);
}

TYPED_TEST_P(Truncate, OfAClosedRowIsClosed) {
  CacheDriver d = this->Make();
  ExpectChangesNothing(d, [&] { EXPECT_EQ(d.Truncate({0}, {0}), Statuses({kClosed})); });
}

TYPED_TEST_P(Truncate, ToANegativeLengthIsInvalid) {
  CacheDriver d = this->Make();
  d.Append({0}, {10});
  ExpectChangesNothing(d, [&] { EXPECT_EQ(d.Truncate({0}, {-1}), Statuses({kInvalid})); });
}

REGISTER_TYPED_TEST_SUITE_P(Truncate, ReleasesWholeBlocksBeyondTheLength,
                            ToMoreThanTheLengthReleasesReservedBlocksOnly, ToNothingKeepsTheRowOpen,
                            LeavesSharedBlocksToTheOtherRow, ManyRowsOfDifferentLengths,
                            OfAClosedRowIsClosed, ToANegativeLengthIsInvalid);

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_CONFORMANCE_TRUNCATE_SUITE_H_
