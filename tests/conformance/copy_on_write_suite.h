// SPDX-License-Identifier: Apache-2.0
//
// tests/conformance/copy_on_write_suite.h
//
// Append where the row's partial tail block is shared: the row gets a copy of its own.

#ifndef KVPAGE_TESTS_CONFORMANCE_COPY_ON_WRITE_SUITE_H_
#define KVPAGE_TESTS_CONFORMANCE_COPY_ON_WRITE_SUITE_H_

#include "tests/conformance/fixture.h"

namespace kvpage::test {

template <class Backend>
class CopyOnWrite : public ConformanceTest<Backend> {};

TYPED_TEST_SUITE_P(CopyOnWrite);

// Rows 0 and 1 share blocks 1 and 2 and both end in the middle of block 2.
inline void ShareATail(CacheDriver& d, int32_t tokens) {
  d.Append({0}, {8});
  d.Fork({1}, {0}, {8});
  EXPECT_EQ(d.Truncate({0, 1}, {tokens, tokens}), Statuses({kOk, kOk}));
  EXPECT_EQ(d.Block(2).references, 2);
}

TYPED_TEST_P(CopyOnWrite, ReplacesASharedTail) {
  CacheDriver d = this->Make();
  ShareATail(d, 6);
  const RowResults r = d.Append({0}, {1}, {.slot_capacity = 1});
  EXPECT_EQ(r.statuses, Statuses({kOk}));
  EXPECT_EQ(r.copies, Copies({{2, 3, 2}}));
  EXPECT_EQ(r.slots, Slots({3 * 4 + 2}));
  EXPECT_EQ(d.Row(0), Ids({1, 3}));
  EXPECT_EQ(d.Row(1), Ids({1, 2}));
  EXPECT_EQ(d.Block(2).references, 1);
  ExpectSound(d, 97);
  // The other row is alone now.
  EXPECT_EQ(d.Append({1}, {1}).copies, Copies({BlockCopy{}}));
  EXPECT_EQ(d.Row(1), Ids({1, 2}));
}

TYPED_TEST_P(CopyOnWrite, TwoRowsWithOneTailInOneBatchBothGetCopies) {
  CacheDriver d = this->Make();
  ShareATail(d, 5);
  const RowResults r = d.Append({1, 0}, {2, 6}, {.slot_capacity = 8});
  EXPECT_EQ(r.statuses, Statuses({kOk, kOk}));
  EXPECT_EQ(r.copies, Copies({{2, 3, 1}, {2, 4, 1}}));
  EXPECT_EQ(r.slots, Slots({13, 14, 17, 18, 19, 20, 21, 22}));
  EXPECT_EQ(d.Row(1), Ids({1, 3}));
  EXPECT_EQ(d.Row(0), Ids({1, 4, 5}));
  EXPECT_FALSE(d.Block(2).owned());
  ExpectSound(d, 96);
}

TYPED_TEST_P(CopyOnWrite, KeepsReservedBlocksBehindTheTail) {
  CacheDriver d = this->Make();
  ShareATail(d, 7);
  d.Reserve({0}, {16});
  const RowResults r = d.Append({0}, {12});
  EXPECT_EQ(r.copies, Copies({{2, 5, 3}}));
  EXPECT_EQ(d.Row(0), Ids({1, 5, 3, 4, 6}));
  ExpectSound(d, 94);
}

TYPED_TEST_P(CopyOnWrite, OfNoTokensIsNotNeeded) {
  CacheDriver d = this->Make();
  ShareATail(d, 6);
  ExpectChangesNothing(d, [&] {
    const RowResults r = d.Append({0}, {0});
    EXPECT_EQ(r.statuses, Statuses({kOk}));
    EXPECT_EQ(r.copies, Copies({BlockCopy{}}));
  });
}

TYPED_TEST_P(CopyOnWrite, IsNotNeededAtABlockBoundary) {
  CacheDriver d = this->Make();
  d.Append({0}, {8});
  d.Fork({1}, {0}, {8});
  EXPECT_EQ(d.Append({0, 1}, {1, 1}).copies, Copies({BlockCopy{}, BlockCopy{}}));
  EXPECT_EQ(d.Row(0), Ids({1, 2, 3}));
  EXPECT_EQ(d.Row(1), Ids({1, 2, 4}));
}

TYPED_TEST_P(CopyOnWrite, IsAlsoDoneForABlockThatTheCallerHolds) {
  CacheDriver d = this->Make();
  d.Append({0}, {6});
  d.Share({2});
  EXPECT_EQ(d.Append({0}, {1}).copies, Copies({{2, 3, 2}}));
  EXPECT_EQ(d.Block(2).references, 1);
  EXPECT_EQ(d.Release({2}), Statuses({kOk}));
  ExpectSound(d, 98);
}

TYPED_TEST_P(CopyOnWrite, WithoutAnArrayOfCopiesIsWrongState) {
  CacheDriver d = this->Make();
  ShareATail(d, 6);
  ExpectChangesNothing(d, [&] {
    EXPECT_EQ(d.Append({0}, {1}, {.with_copies = false}).statuses, Statuses({kWrongState}));
  });
}

TYPED_TEST_P(CopyOnWrite, CountsAsABlockOfTheRow) {
  CacheDriver d = this->Make(WithBlocks(3));
  ShareATail(d, 6);
  // One block is free: enough for the copy, not for one more as well.
  ExpectChangesNothing(d, [&] {
    const RowResults r = d.Append({0}, {3});
    EXPECT_EQ(r.statuses, Statuses({kFull}));
    EXPECT_EQ(r.copies, Copies({BlockCopy{}}));
  });
  EXPECT_EQ(d.Append({0, 1}, {2, 2}).statuses, Statuses({kOk, kFull}));
  EXPECT_EQ(d.Append({1}, {2}).statuses, Statuses({kOk}));
  ExpectSound(d, 0);
}

TYPED_TEST_P(CopyOnWrite, RowsThatFailAskForNoCopy) {
  CacheDriver d = this->Make();
  ShareATail(d, 6);
  const RowResults r = d.Append({0, -3, 2}, {100, 1, 1});
  EXPECT_EQ(r.statuses, Statuses({kTableFull, kInvalid, kOk}));
  EXPECT_EQ(r.copies, Copies(3));
}

REGISTER_TYPED_TEST_SUITE_P(CopyOnWrite, ReplacesASharedTail,
                            TwoRowsWithOneTailInOneBatchBothGetCopies,
                            KeepsReservedBlocksBehindTheTail, OfNoTokensIsNotNeeded,
                            IsNotNeededAtABlockBoundary, IsAlsoDoneForABlockThatTheCallerHolds,
                            WithoutAnArrayOfCopiesIsWrongState, CountsAsABlockOfTheRow,
                            RowsThatFailAskForNoCopy);

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_CONFORMANCE_COPY_ON_WRITE_SUITE_H_
