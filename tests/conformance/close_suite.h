// SPDX-License-Identifier: Apache-2.0
//
// tests/conformance/close_suite.h
//
// Close: all blocks released, once.

#ifndef KVPAGE_TESTS_CONFORMANCE_CLOSE_SUITE_H_
#define KVPAGE_TESTS_CONFORMANCE_CLOSE_SUITE_H_

#include "tests/conformance/fixture.h"

namespace kvpage::test {

template <class Backend>
class Close : public ConformanceTest<Backend> {};

TYPED_TEST_SUITE_P(Close);

TYPED_TEST_P(Close, ReleasesEverythingAndClearsTheRow) {
  CacheDriver d = this->Make();
  d.Append({0, 1}, {20, 6});
  EXPECT_EQ(d.Close({0}), Statuses({kOk}));
  EXPECT_EQ(d.WholeRow(0), Ids(6, kNullBlock));
  EXPECT_EQ(d.Length(0), 0);
  EXPECT_FALSE(d.Sequence(0).open);
  ExpectSound(d, 98);
  EXPECT_EQ(d.Row(1), Ids({6, 7}));
}

TYPED_TEST_P(Close, TwiceIsClosed) {
  CacheDriver d = this->Make();
  d.Append({0}, {20});
  EXPECT_EQ(d.Close({0}), Statuses({kOk}));
  ExpectChangesNothing(d, [&] { EXPECT_EQ(d.Close({0, 1}), Statuses({kClosed, kClosed})); });
}

TYPED_TEST_P(Close, RaisesTheGeneration) {
  CacheDriver d = this->Make();
  for (uint32_t generation = 0; generation < 3; ++generation) {
    d.Append({0}, {1});
    EXPECT_EQ(d.Sequence(0).generation, 2 * generation);
    d.Truncate({0}, {1});  // takes nothing away
    EXPECT_EQ(d.Sequence(0).generation, 2 * generation);
    d.Truncate({0}, {0});
    EXPECT_EQ(d.Sequence(0).generation, 2 * generation + 1);
    d.Close({0});
  }
  EXPECT_EQ(d.Sequence(0).generation, 6u);
}

TYPED_TEST_P(Close, ReleasesReservedBlocksAsWell) {
  CacheDriver d = this->Make();
  d.Append({0}, {3});
  d.Reserve({0}, {24});
  d.Close({0});
  ExpectSound(d, 100);
}

TYPED_TEST_P(Close, OfRowsThatShareReleasesEachBlockOnce) {
  CacheDriver d = this->Make();
  d.Append({0}, {24});
  d.Fork({1, 2, 3}, {0, 0, 0}, {24, 21, 3});
  const BlockState before = d.Block(1);
  EXPECT_EQ(before.references, 3);
  EXPECT_EQ(d.Close({2, 0, 3, 1}), Statuses(4, kOk));
  ExpectSound(d, 100);
  EXPECT_EQ(d.Block(1).references, 0);
  d.Append({0}, {4});
  EXPECT_EQ(d.Block(1).generation, before.generation + 1);
}

TYPED_TEST_P(Close, FreesTheIdsForTheNextRow) {
  CacheDriver d = this->Make();
  d.Append({0, 1}, {8, 8});
  d.Close({0});
  d.Append({2}, {12});
  EXPECT_EQ(d.Row(2), Ids({1, 2, 5}));
}

REGISTER_TYPED_TEST_SUITE_P(Close, ReleasesEverythingAndClearsTheRow, TwiceIsClosed,
                            RaisesTheGeneration, ReleasesReservedBlocksAsWell,
                            OfRowsThatShareReleasesEachBlockOnce, FreesTheIdsForTheNextRow);

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_CONFORMANCE_CLOSE_SUITE_H_
