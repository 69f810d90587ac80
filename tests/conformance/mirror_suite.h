// SPDX-License-Identifier: Apache-2.0
//
// tests/conformance/mirror_suite.h
//
// The mirror: what operations tell the host, which reads it without asking the backend.

#ifndef KVPAGE_TESTS_CONFORMANCE_MIRROR_SUITE_H_
#define KVPAGE_TESTS_CONFORMANCE_MIRROR_SUITE_H_

#include <vector>

#include "tests/conformance/fixture.h"

namespace kvpage::test {

template <class Backend>
class Mirror : public ConformanceTest<Backend> {
 protected:
  static CacheDriver MakeMirrored() {
    KvCacheOptions options = kWithDrafts;
    options.mirror = true;
    return ConformanceTest<Backend>::Make(options);
  }
};

TYPED_TEST_SUITE_P(Mirror);

inline std::vector<Misuse> Misuses(CacheDriver& d) {
  std::vector<Misuse> misuses(MirrorStorage::kRingEntries);
  misuses.resize(d.cache().PeekMisuses(0, absl::MakeSpan(misuses)));
  return misuses;
}

TYPED_TEST_P(Mirror, CountsAfterEveryOperation) {
  CacheDriver d = this->MakeMirrored();
  d.Append({0, 1}, {8, 9});
  MirrorCounters seen = d.cache().Peek();
  EXPECT_EQ(seen.operations, 1u);
  EXPECT_EQ(seen.free_blocks, 95u);
  EXPECT_EQ(seen.most_owned_blocks, 5u);
  EXPECT_EQ(seen.failed_rows, 0u);
  d.Fork({2}, {1}, {8});
  d.Truncate({1}, {4});
  d.BeginDraft({0}, {5}, {2});
  EXPECT_EQ(d.cache().Peek().free_blocks, 92u);
  d.CommitDraft({0}, {1}, {1}, {.fence = 3});
  seen = d.cache().Peek();
  EXPECT_EQ(seen.operations, 5u);
  EXPECT_EQ(seen.free_blocks, 92u);
  EXPECT_EQ(seen.pending_blocks, 3u);
  d.Close({0, 1, 2});
  d.Signal(3);
  d.Poll();
  seen = d.cache().Peek();
  EXPECT_EQ(seen.operations, 7u);
  EXPECT_EQ(seen.free_blocks, 100u);
  EXPECT_EQ(seen.pending_blocks, 0u);
  EXPECT_EQ(seen.most_owned_blocks, 8u);
  EXPECT_EQ(seen.misuses, 0u);
}

// On a GPU as one cluster of several thread blocks, which counts once and when all have ended.
TYPED_TEST_P(Mirror, CountsABatchOfManyRowsOnce) {
  constexpr int32_t kRows = 100;
  CacheDriver d = ConformanceTest<TypeParam>::Make({.num_blocks = 128,
                                                    .block_tokens = 4,
                                                    .max_sequences = kRows,
                                                    .max_blocks_per_sequence = 2,
                                                    .mirror = true});
  Rows rows(kRows);
  for (int32_t row = 0; row < kRows; ++row) rows[static_cast<size_t>(row)] = row;
  for (uint64_t round = 0; round < 3; ++round) {
    d.Append(rows, Tokens(kRows, 4));
    EXPECT_EQ(d.cache().Peek().free_blocks, 28u);
    d.Close({5});
    d.Close(rows);  // in ascending order; one is closed already
    const MirrorCounters seen = d.cache().Peek();
    EXPECT_EQ(seen.operations, 3 * (round + 1));
    EXPECT_EQ(seen.free_blocks, 128u);
    EXPECT_EQ(seen.failed_rows, round + 1);
  }
  ExpectSound(d, 128);
}

TYPED_TEST_P(Mirror, CountsRowsThatFail) {
  CacheDriver d = this->MakeMirrored();
  d.Append({0, -1, 0, 1}, {1, 1, 1, 1000});
  EXPECT_EQ(d.cache().Peek().failed_rows, 3u);
  d.Close({0, 5});
  EXPECT_EQ(d.cache().Peek().failed_rows, 4u);
  d.Close({6, 7}, {.count = 1});
  EXPECT_EQ(d.cache().Peek().failed_rows, 5u);
  d.Release({1, 99});
  EXPECT_EQ(d.cache().Peek().failed_rows, 7u);
  EXPECT_EQ(d.cache().Peek().operations, 4u);
}

TYPED_TEST_P(Mirror, BoundsTheLengthsOfRows) {
  CacheDriver d = this->MakeMirrored();
  EXPECT_EQ(d.cache().PeekLengthBound(0), 0u);
  d.Append({0, 7}, {6, 1});
  EXPECT_EQ(d.cache().PeekLengthBound(0), 6u);
  EXPECT_EQ(d.cache().PeekLengthBound(7), 1u);
  d.BeginDraft({0}, {5});
  EXPECT_EQ(d.cache().PeekLengthBound(0), 11u);
  d.CommitDraft({0}, {2});
  EXPECT_EQ(d.cache().PeekLengthBound(0), 8u);
  d.Fork({3}, {0}, {5});
  EXPECT_EQ(d.cache().PeekLengthBound(3), 5u);
  d.Truncate({0}, {3});
  EXPECT_EQ(d.cache().PeekLengthBound(0), 3u);
  d.Close({0});
  EXPECT_EQ(d.cache().PeekLengthBound(0), 0u);
}

TYPED_TEST_P(Mirror, ReportsMisuseAtTheFaultyCall) {
  CacheDriver d = this->MakeMirrored();
  d.Append({0, 1}, {8, 4});  // blocks 1, 2; 3
  d.Release({2});            // which row 0 believes it has
  d.Share({50, 3}, {.failure = FailureMode::kPerRow});
  d.Share({3}, {.generations = {{7}}});
  d.Release({101});
  d.Close({1, 0});
  const std::vector<Misuse> misuses = Misuses(d);
  ASSERT_EQ(misuses.size(), 4u);
  EXPECT_EQ(misuses[0], (Misuse{.number = 0,
                                .operations = 2,
                                .by = MisusedBy::kShare,
                                .status = kStale,
                                .place = 0,
                                .block = 50}));
  EXPECT_EQ(misuses[1], (Misuse{.number = 1,
                                .operations = 3,
                                .by = MisusedBy::kShare,
                                .status = kStale,
                                .place = 0,
                                .block = 3}));
  EXPECT_EQ(misuses[2], (Misuse{.number = 2,
                                .operations = 4,
                                .by = MisusedBy::kRelease,
                                .status = kInvalid,
                                .place = 0,
                                .block = 101}));
  EXPECT_EQ(misuses[3], (Misuse{.number = 3,
                                .operations = 5,
                                .by = MisusedBy::kClose,
                                .status = kDoubleFree,
                                .place = 1,
                                .row = 0,
                                .block = 2}));
  EXPECT_EQ(d.cache().Peek().misuses, 4u);
}

TYPED_TEST_P(Mirror, ReportsABlockOfADraftThatWasReleased) {
  CacheDriver d = this->MakeMirrored();
  d.Append({0}, {4});
  d.BeginDraft({0}, {4});
  d.Release({2});
  EXPECT_EQ(d.CommitDraft({0}, {0}), Statuses({kDoubleFree}));
  const std::vector<Misuse> misuses = Misuses(d);
  ASSERT_EQ(misuses.size(), 1u);
  EXPECT_EQ(misuses[0].by, MisusedBy::kCommitDraft);
  EXPECT_EQ(misuses[0].row, 0);
  EXPECT_EQ(misuses[0].block, 2u);
}

REGISTER_TYPED_TEST_SUITE_P(Mirror, CountsAfterEveryOperation, CountsABatchOfManyRowsOnce,
                            CountsRowsThatFail, BoundsTheLengthsOfRows,
                            ReportsMisuseAtTheFaultyCall, ReportsABlockOfADraftThatWasReleased);

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_CONFORMANCE_MIRROR_SUITE_H_
