// SPDX-License-Identifier: Apache-2.0
//
// tests/conformance/fork_suite.h
//
// Fork: a child that shares full blocks and copies a partial tail.

#ifndef KVPAGE_TESTS_CONFORMANCE_FORK_SUITE_H_
#define KVPAGE_TESTS_CONFORMANCE_FORK_SUITE_H_

#include "kvpage/core/cpu_atomics.h"
#include "tests/conformance/fixture.h"

namespace kvpage::test {

template <class Backend>
class Fork : public ConformanceTest<Backend> {};

TYPED_TEST_SUITE_P(Fork);

TYPED_TEST_P(Fork, SharesFullBlocksAndCopiesThePartialTail) {
  CacheDriver d = this->Make();
  d.Append({0}, {10});
  const RowResults r = d.Fork({5}, {0}, {10});
  EXPECT_EQ(r.statuses, Statuses({kOk}));
  EXPECT_EQ(r.copies, Copies({{3, 4, 2}}));
  EXPECT_EQ(d.Row(5), Ids({1, 2, 4}));
  EXPECT_EQ(d.Length(5), 10);
  EXPECT_EQ(d.Block(1).references, 2);
  EXPECT_EQ(d.Block(3).references, 1);
  ExpectSound(d, 96);
}

TYPED_TEST_P(Fork, AtABlockBoundaryNeedsNoBlock) {
  CacheDriver d = this->Make(WithBlocks(2));
  d.Append({0}, {8});
  const RowResults r = d.Fork({1, 2, 3}, {0, 0, 0}, {8, 4, 0}, {.with_copies = false});
  EXPECT_EQ(r.statuses, Statuses({kOk, kOk, kOk}));
  EXPECT_EQ(d.Row(2), Ids({1}));
  EXPECT_EQ(d.Held(3), 0u);
  EXPECT_TRUE(d.Sequence(3).open);
  EXPECT_EQ(d.Block(1).references, 3);
  ExpectSound(d, 0);
}

TYPED_TEST_P(Fork, OfAPrefixTakesNoMoreThanThat) {
  CacheDriver d = this->Make();
  d.Append({0}, {20});
  d.Reserve({0}, {24});
  const RowResults r = d.Fork({1}, {0}, {7});
  EXPECT_EQ(r.copies, Copies({{2, 7, 3}}));
  EXPECT_EQ(d.WholeRow(1), Ids({1, 7, 0, 0, 0, 0}));
  EXPECT_EQ(d.Length(1), 7);
}

TYPED_TEST_P(Fork, ManyChildrenOfSeveralParentsInOneBatch) {
  CacheDriver d = this->Make();
  d.Append({0, 1}, {8, 6});
  const RowResults r = d.Fork({7, 2, 4, 3}, {1, 0, 1, 0}, {6, 8, 5, 7});
  EXPECT_EQ(r.statuses, Statuses(4, kOk));
  EXPECT_EQ(r.copies, Copies({{4, 5, 2}, BlockCopy{}, {4, 6, 1}, {2, 7, 3}}));
  EXPECT_EQ(d.Row(7), Ids({3, 5}));
  EXPECT_EQ(d.Row(2), Ids({1, 2}));
  EXPECT_EQ(d.Row(4), Ids({3, 6}));
  EXPECT_EQ(d.Row(3), Ids({1, 7}));
  EXPECT_EQ(d.Block(1).references, 3);
  EXPECT_EQ(d.Block(2).references, 2);
  EXPECT_EQ(d.Block(3).references, 3);
  ExpectSound(d, 93);
}

TYPED_TEST_P(Fork, ADivergingChildLeavesTheParentAlone) {
  CacheDriver d = this->Make();
  d.Append({0}, {6});
  d.Fork({1}, {0}, {6});
  EXPECT_EQ(d.Append({0, 1}, {1, 1}, {.slot_capacity = 2}).slots, Slots({2 * 4 + 2, 3 * 4 + 2}));
  d.Close({0});
  EXPECT_EQ(d.Row(1), Ids({1, 3}));
  ExpectSound(d, 98);
}

TYPED_TEST_P(Fork, IntoAnOpenRowIsWrongState) {
  CacheDriver d = this->Make();
  d.Append({0, 1}, {8, 1});
  ExpectChangesNothing(d, [&] {
    EXPECT_EQ(d.Fork({1, 0}, {0, 0}, {4, 4}).statuses, Statuses({kWrongState, kWrongState}));
  });
}

TYPED_TEST_P(Fork, OfAClosedParentIsClosed) {
  CacheDriver d = this->Make();
  d.Append({0}, {4});
  d.Close({0});
  ExpectChangesNothing(d, [&] {
    EXPECT_EQ(d.Fork({1, 2}, {0, 2}, {0, 0}).statuses, Statuses({kClosed, kClosed}));
  });
}

TYPED_TEST_P(Fork, OfAChildOfTheSameBatchIsClosed) {
  CacheDriver d = this->Make();
  d.Append({0}, {4});
  EXPECT_EQ(d.Fork({1, 2}, {0, 1}, {4, 4}).statuses, Statuses({kOk, kClosed}));
  EXPECT_FALSE(d.Sequence(2).open);
}

TYPED_TEST_P(Fork, OfMoreTokensThanTheParentHasIsInvalid) {
  CacheDriver d = this->Make();
  d.Append({0}, {6});
  d.Reserve({0}, {24});
  ExpectChangesNothing(d, [&] {
    EXPECT_EQ(d.Fork({1, 2, 3, 4}, {0, 0, 8, -1}, {7, -1, 1, 1}).statuses, Statuses(4, kInvalid));
  });
}

TYPED_TEST_P(Fork, ThatNeedsACopyWithoutAnArrayForItIsWrongState) {
  CacheDriver d = this->Make();
  d.Append({0}, {6});
  ExpectChangesNothing(d, [&] {
    EXPECT_EQ(d.Fork({1}, {0}, {6}, {.with_copies = false}).statuses, Statuses({kWrongState}));
  });
}

TYPED_TEST_P(Fork, WithNoBlockForTheTailIsFullAndSharesNothing) {
  CacheDriver d = this->Make(WithBlocks(2));
  d.Append({0}, {6});
  ExpectChangesNothing(d, [&] {
    const RowResults r = d.Fork({1}, {0}, {6});
    EXPECT_EQ(r.statuses, Statuses({kFull}));
    EXPECT_EQ(r.copies, Copies({BlockCopy{}}));
  });
  EXPECT_EQ(d.Fork({1, 2}, {0, 0}, {6, 4}).statuses, Statuses({kFull, kOk}));
}

TYPED_TEST_P(Fork, OfABlockWithTooManyReferencesIsInvalid) {
  CacheDriver d = this->Make();
  d.Append({0}, {4});
  const BlockWordsStorage& words = d.cache().pool().words;
  uint32_t* const word = &words.words[words.layout.Index(0)];
  const uint32_t generation = d.Block(1).generation;
  d.Write(word, BlockState{kMaxReferences, generation}.Word());
  const uint64_t hash = d.Hash();
  EXPECT_EQ(d.Fork({1}, {0}, {4}).statuses, Statuses({kInvalid}));
  EXPECT_EQ(d.Hash(), hash);
  d.Write(word, BlockState{kMaxReferences - 1, generation}.Word());
  EXPECT_EQ(d.Fork({1}, {0}, {4}).statuses, Statuses({kOk}));
  EXPECT_EQ(d.Block(1).references, kMaxReferences);
}

REGISTER_TYPED_TEST_SUITE_P(Fork, SharesFullBlocksAndCopiesThePartialTail,
                            AtABlockBoundaryNeedsNoBlock, OfAPrefixTakesNoMoreThanThat,
                            ManyChildrenOfSeveralParentsInOneBatch,
                            ADivergingChildLeavesTheParentAlone, IntoAnOpenRowIsWrongState,
                            OfAClosedParentIsClosed, OfAChildOfTheSameBatchIsClosed,
                            OfMoreTokensThanTheParentHasIsInvalid,
                            ThatNeedsACopyWithoutAnArrayForItIsWrongState,
                            WithNoBlockForTheTailIsFullAndSharesNothing,
                            OfABlockWithTooManyReferencesIsInvalid);

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_CONFORMANCE_FORK_SUITE_H_
