// SPDX-License-Identifier: Apache-2.0
//
// tests/conformance/block_list_suite.h
//
// Share and Release of block lists: raw reference counts, checked as a whole.

#ifndef KVPAGE_TESTS_CONFORMANCE_BLOCK_LIST_SUITE_H_
#define KVPAGE_TESTS_CONFORMANCE_BLOCK_LIST_SUITE_H_

#include "kvpage/core/cpu_atomics.h"
#include "tests/conformance/fixture.h"

namespace kvpage::test {

template <class Backend>
class BlockList : public ConformanceTest<Backend> {};

TYPED_TEST_SUITE_P(BlockList);

TYPED_TEST_P(BlockList, SharedBlocksOutliveTheRow) {
  CacheDriver d = this->Make();
  d.Append({0}, {12});
  EXPECT_EQ(d.Share({1, 3}), Statuses({kOk, kOk}));
  d.Close({0});
  ExpectSound(d, 98);
  EXPECT_EQ(d.Audit().outside_blocks, 2u);
  EXPECT_EQ(d.Release({3}), Statuses({kOk}));
  EXPECT_EQ(d.Release({1}), Statuses({kOk}));
  ExpectSound(d, 100);
}

TYPED_TEST_P(BlockList, EachMentionOfARepeatedIdCounts) {
  CacheDriver d = this->Make();
  d.Append({0}, {12});
  EXPECT_EQ(d.Share({2, 1, 2, 2}), Statuses(4, kOk));
  EXPECT_EQ(d.Block(2).references, 4);
  EXPECT_EQ(d.Block(1).references, 2);
  d.Close({0});
  EXPECT_EQ(d.Release({2, 2, 1, 2}), Statuses(4, kOk));
  ExpectSound(d, 100);
}

TYPED_TEST_P(BlockList, NullBlocksArePassedOver) {
  CacheDriver d = this->Make();
  d.Append({0}, {4});
  EXPECT_EQ(d.Share({0, 1, 0}), Statuses(3, kOk));
  EXPECT_EQ(d.Block(1).references, 2);
  EXPECT_EQ(d.Release({0, 0, 1}), Statuses(3, kOk));
  EXPECT_EQ(d.Release({0}), Statuses({kOk}));
  ExpectSound(d, 99);
}

TYPED_TEST_P(BlockList, OneMentionTooManyChangesNothingAndIsNamed) {
  CacheDriver d = this->Make();
  d.Append({0}, {8});
  d.Share({1, 1, 2});
  d.Close({0});
  ExpectChangesNothing(d, [&] {
    EXPECT_EQ(d.Release({1, 2, 1, 1}), Statuses({kCancelled, kCancelled, kCancelled, kDoubleFree}));
    EXPECT_EQ(d.Release({2, 2, 1}), Statuses({kCancelled, kDoubleFree, kCancelled}));
  });
  EXPECT_EQ(d.Release({1, 2, 1}), Statuses(3, kOk));
  ExpectSound(d, 100);
}

TYPED_TEST_P(BlockList, EachBadEntryIsToldWhy) {
  CacheDriver d = this->Make();
  d.Append({0}, {4});
  d.Share({1});
  ExpectChangesNothing(d, [&] {
    EXPECT_EQ(d.Release({1, 101, 5, 0xffffffff}),
              Statuses({kCancelled, kInvalid, kDoubleFree, kInvalid}));
    EXPECT_EQ(d.Share({1, 101, 5, 0xffffffff}), Statuses({kCancelled, kInvalid, kStale, kInvalid}));
  });
}

TYPED_TEST_P(BlockList, PerRowTheGoodEntriesGoOn) {
  CacheDriver d = this->Make();
  d.Append({0}, {8});
  EXPECT_EQ(d.Share({1, 50, 2, 101}, {.failure = FailureMode::kPerRow}),
            Statuses({kOk, kStale, kOk, kInvalid}));
  d.Close({0});
  ExpectSound(d, 98);
  EXPECT_EQ(d.Release({2, 50, 1, 2}, {.failure = FailureMode::kPerRow}),
            Statuses({kOk, kDoubleFree, kOk, kDoubleFree}));
  ExpectSound(d, 100);
}

TYPED_TEST_P(BlockList, HandlesOfAnEarlierLifeAreStale) {
  CacheDriver d = this->Make();
  d.Append({0}, {4});
  const uint32_t old_life = d.Block(1).generation;
  d.Close({0});
  ExpectChangesNothing(d, [&] {
    EXPECT_EQ(d.Share({1}, {.generations = {{old_life}}}), Statuses({kStale}));
    EXPECT_EQ(d.Release({1}, {.generations = {{old_life}}}), Statuses({kStale}));
  });
  d.Append({0}, {4});
  const uint32_t new_life = d.Block(1).generation;
  EXPECT_NE(new_life, old_life);
  ExpectChangesNothing(d, [&] {
    EXPECT_EQ(d.Share({1}, {.generations = {{old_life}}}), Statuses({kStale}));
    EXPECT_EQ(d.Release({1}, {.generations = {{old_life}}}), Statuses({kStale}));
  });
  EXPECT_EQ(d.Share({1}, {.generations = {{new_life}}}), Statuses({kOk}));
  EXPECT_EQ(d.Release({1}, {.generations = {{new_life}}}), Statuses({kOk}));
}

// A stale mention takes nothing, so it takes nothing from a good one behind it.
TYPED_TEST_P(BlockList, AStaleMentionDoesNotCountAgainstAGoodOne) {
  CacheDriver d = this->Make();
  d.Append({0}, {4});
  d.Close({0});
  d.Append({0}, {4});
  d.Share({1});
  d.Close({0});
  const uint32_t life = d.Block(1).generation;  // the second one
  EXPECT_EQ(d.Release({1, 1, 1},
                      {.failure = FailureMode::kPerRow, .generations = {{life - 1, life, life}}}),
            Statuses({kStale, kOk, kDoubleFree}));
  ExpectSound(d, 100);
}

TYPED_TEST_P(BlockList, OnlyTheFirstCountEntriesAreMeant) {
  CacheDriver d = this->Make();
  d.Append({0}, {12});
  EXPECT_EQ(d.Share({1, 2, 3}, {.count = 2}), Statuses({kOk, kOk, kUnwritten}));
  EXPECT_EQ(d.Share({1, 2, 3}, {.count = -4}), Statuses(3, kUnwritten));
  EXPECT_EQ(d.Share({1, 2, 3}, {.count = 1000}), Statuses(3, kOk));
  EXPECT_EQ(d.Release({2, 1, 3, 1, 99}, {.count = 4}), Statuses({kOk, kOk, kOk, kOk, kUnwritten}));
  EXPECT_EQ(d.Block(3).references, 1);
  EXPECT_EQ(d.Block(1).references, 1);
  EXPECT_EQ(d.Block(2).references, 2);
}

TYPED_TEST_P(BlockList, LongListsInAnyOrder) {
  CacheDriver d = this->Make();
  d.Append({0, 1, 2}, {24, 24, 24});
  Ids up, down, mixed;
  for (BlockId id = 1; id <= 18; ++id) {
    up.push_back(id);
    down.push_back(19 - id);
    mixed.push_back(1 + id * 7 % 18);
  }
  EXPECT_EQ(d.Share(up), Statuses(18, kOk));
  EXPECT_EQ(d.Share(mixed), Statuses(18, kOk));
  d.Close({0, 1, 2});
  ExpectSound(d, 100 - 18);
  EXPECT_EQ(d.Release(down), Statuses(18, kOk));
  EXPECT_EQ(d.Release(mixed), Statuses(18, kOk));
  ExpectSound(d, 100);
}

TYPED_TEST_P(BlockList, MoreReferencesThanAWordCountsAreRefused) {
  CacheDriver d = this->Make();
  d.Append({0}, {4});
  const BlockWordsStorage& words = d.cache().pool().words;
  uint32_t* const word = &words.words[words.layout.Index(0)];
  const uint32_t generation = d.Block(1).generation;
  d.Write(word, BlockState{kMaxReferences, generation}.Word());
  const uint64_t hash = d.Hash();
  EXPECT_EQ(d.Share({1}), Statuses({kInvalid}));
  EXPECT_EQ(d.Hash(), hash);
  // One would fit; a list that goes too far changes nothing.
  d.Write(word, BlockState{kMaxReferences - 1, generation}.Word());
  const uint64_t almost = d.Hash();
  EXPECT_EQ(d.Share({1, 1}), Statuses({kInvalid, kInvalid}));
  EXPECT_EQ(d.Hash(), almost);
  d.Write(word, BlockState{kMaxReferences - 2, generation}.Word());
  EXPECT_EQ(d.Share({1, 1}), Statuses({kOk, kOk}));
  EXPECT_EQ(d.Block(1).references, kMaxReferences);
}

REGISTER_TYPED_TEST_SUITE_P(BlockList, SharedBlocksOutliveTheRow, EachMentionOfARepeatedIdCounts,
                            NullBlocksArePassedOver, OneMentionTooManyChangesNothingAndIsNamed,
                            EachBadEntryIsToldWhy, PerRowTheGoodEntriesGoOn,
                            HandlesOfAnEarlierLifeAreStale,
                            AStaleMentionDoesNotCountAgainstAGoodOne,
                            OnlyTheFirstCountEntriesAreMeant, LongListsInAnyOrder,
                            MoreReferencesThanAWordCountsAreRefused);

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_CONFORMANCE_BLOCK_LIST_SUITE_H_
