// SPDX-License-Identifier: Apache-2.0
//
// tests/conformance/state_hash_suite.h
//
// StateHash: equal after equal operations, different after anything else.

#ifndef KVPAGE_TESTS_CONFORMANCE_STATE_HASH_SUITE_H_
#define KVPAGE_TESTS_CONFORMANCE_STATE_HASH_SUITE_H_

#include <set>
#include <utility>

#include "tests/conformance/fixture.h"

namespace kvpage::test {

template <class Backend>
class StateHash : public ConformanceTest<Backend> {};

TYPED_TEST_SUITE_P(StateHash);

inline void Work(CacheDriver& d) {
  d.Append({0, 1, 2}, {10, 24, 3});
  d.Fork({3, 4}, {1, 0}, {8, 9});
  d.Close({1});
  d.Share({1, 3});
  d.Append({2, 3}, {4, 4});
}

TYPED_TEST_P(StateHash, EqualOperationsGiveEqualHashes) {
  CacheDriver a = this->Make();
  CacheDriver b = this->Make();
  EXPECT_EQ(a.Hash(), b.Hash());
  Work(a);
  EXPECT_NE(a.Hash(), b.Hash());
  Work(b);
  EXPECT_EQ(a.Hash(), b.Hash());
}

TYPED_TEST_P(StateHash, DoesNotDependOnTheLayout) {
  CacheDriver a = this->Make();
  KvCacheOptions other = kSmall;
  other.block_words = Placement::kInterleaved;
  other.gate_words = Placement::kContiguous;
  other.sequence_words = Placement::kInterleaved;
  other.blocks_per_shard = 128;
  CacheDriver b = this->Make(other);
  Work(a);
  Work(b);
  EXPECT_EQ(a.Hash(), b.Hash());
}

TYPED_TEST_P(StateHash, OperationsThatFailLeaveNoTrace) {
  CacheDriver a = this->Make();
  CacheDriver b = this->Make();
  Work(a);
  Work(b);
  b.Append({0, 0, 7, 9, 6}, {100, 1, -1, 1, 401}, {.slot_capacity = 3});
  b.Reserve({5, 6, 7}, {24, 24, 25}, {.failure = FailureMode::kWholeBatch});
  b.Close({1, 7});
  b.Fork({0, 7}, {2, 7}, {1, 0});
  b.Release({1, 1, 90});
  EXPECT_EQ(a.Hash(), b.Hash());
}

TYPED_TEST_P(StateHash, DependsOnWhichRowHasWhichBlocks) {
  CacheDriver a = this->Make();
  CacheDriver b = this->Make();
  a.Append({0, 1}, {4, 4});
  b.Append({1, 0}, {4, 4});
  EXPECT_NE(a.Hash(), b.Hash());
}

TYPED_TEST_P(StateHash, DependsOnEveryPartOfTheState) {
  CacheDriver d = this->Make();
  Work(d);
  const KvCache& cache = d.cache();
  const uint64_t before = d.Hash();
  const auto expect_change = [&](const char* what, auto* word, auto flip) {
    const auto good = d.Read(word);
    d.Write(word, static_cast<decltype(good)>(good ^ flip));
    EXPECT_NE(d.Hash(), before) << what;
    d.Write(word, good);
    EXPECT_EQ(d.Hash(), before);
  };
  expect_change("free bits", &cache.pool().bits.leaves[1], uint64_t{1} << 35);
  uint32_t* const word = &cache.pool().words.words[cache.pool().words.layout.Index(99)];
  expect_change("generations", word, 2u << BlockState::kReferenceBits);
  expect_change("references", word, 1u);
  uint64_t* const sequence = &cache.table().sequence_words[cache.table().sequence_layout.Index(7)];
  expect_change("lengths", sequence, uint64_t{1});
  expect_change("row generations", sequence, uint64_t{1} << 40);
  expect_change("open rows", sequence, uint64_t{1} << 63);
  expect_change("held blocks", &cache.table().held_blocks[7], 1u);
  expect_change("entries", &cache.table().entries[7 * 6 + 5], 3u);
}

TYPED_TEST_P(StateHash, RemembersThatABlockHasLived) {
  CacheDriver a = this->Make();
  CacheDriver b = this->Make();
  a.Append({0}, {4});
  a.Truncate({0}, {0});
  b.Append({0}, {0});
  EXPECT_NE(a.Hash(), b.Hash());
}

TYPED_TEST_P(StateHash, DependsOnDrafts) {
  CacheDriver d = this->Make(kWithDrafts);
  d.Append({0}, {4});
  const uint64_t without = d.Hash();
  std::set<uint64_t> hashes = {without};
  // In one private block each: only what was asked for differs, or where the block is.
  for (const auto& [tokens, branches] : {std::pair{1, 1}, {2, 1}, {0, 1}, {0, 2}, {1, 2}}) {
    CacheDriver other = this->Make(kWithDrafts);
    other.Append({0}, {4});
    other.BeginDraft({0}, {tokens}, {branches});
    EXPECT_TRUE(hashes.insert(other.Hash()).second) << tokens << " on " << branches;
    BlockId* const entry = &other.cache().table().draft_entries[1];
    other.Write(entry, BlockId{7});
    EXPECT_TRUE(hashes.insert(other.Hash()).second) << "private blocks";
    other.Write(entry, kNullBlock);
    other.AbortDraft({0});
    if (tokens == 0) {
      EXPECT_EQ(other.Hash(), without);
    }
  }
}

TYPED_TEST_P(StateHash, DependsOnPendingBlocksAndTheirEpochs) {
  std::set<uint64_t> hashes;
  for (const uint64_t epoch : {0, 1, 2}) {
    CacheDriver d = this->Make();
    d.Append({0, 1}, {4, 4});
    d.Close({0}, {.fence = epoch});
    EXPECT_TRUE(hashes.insert(d.Hash()).second) << epoch;
    d.Close({1}, {.fence = epoch});
    EXPECT_TRUE(hashes.insert(d.Hash()).second) << epoch;
  }
  // How they got there leaves no trace, nor that they waited.
  CacheDriver a = this->Make();
  CacheDriver b = this->Make();
  a.Append({0, 1, 2}, {4, 4, 4});
  b.Append({0, 1, 2}, {4, 4, 4});
  a.Close({0}, {.fence = 1});
  a.Close({1}, {.fence = 2});
  b.Close({1}, {.fence = 2});
  b.Close({0}, {.fence = 1});
  EXPECT_EQ(a.Hash(), b.Hash());
  a.Signal(2);
  a.Poll();
  b.Signal(1);
  b.Poll();
  EXPECT_NE(a.Hash(), b.Hash());
  b.Signal(2);
  b.Poll();
  EXPECT_EQ(a.Hash(), b.Hash());
}

REGISTER_TYPED_TEST_SUITE_P(StateHash, EqualOperationsGiveEqualHashes, DoesNotDependOnTheLayout,
                            OperationsThatFailLeaveNoTrace, DependsOnWhichRowHasWhichBlocks,
                            DependsOnEveryPartOfTheState, RemembersThatABlockHasLived,
                            DependsOnDrafts, DependsOnPendingBlocksAndTheirEpochs);

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_CONFORMANCE_STATE_HASH_SUITE_H_
