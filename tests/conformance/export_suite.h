// SPDX-License-Identifier: Apache-2.0
//
// tests/conformance/export_suite.h
//
// The exports: what they write for rows of any state, that nothing stale is among it, and that they
// change nothing.

#ifndef KVPAGE_TESTS_CONFORMANCE_EXPORT_SUITE_H_
#define KVPAGE_TESTS_CONFORMANCE_EXPORT_SUITE_H_

#include "tests/conformance/fixture.h"
#include "tests/support/export_driver.h"
#include "tests/support/random.h"

namespace kvpage::test {

template <class Backend>
class Exports : public ConformanceTest<Backend> {
 protected:
  static KvCacheOptions WithDrafts() {
    KvCacheOptions options = kSmall;
    options.max_draft_tokens = 6;
    options.max_draft_branches = 2;
    return options;
  }
  // Rows 0, 1, 2 of 5, 8 and 1 tokens: blocks 1 2, 3 4, 5.
  static CacheDriver Three(const KvCacheOptions& options = kSmall) {
    CacheDriver d = ConformanceTest<Backend>::Make(options);
    d.Append({0, 1, 2}, {5, 8, 1});
    return d;
  }
};

TYPED_TEST_SUITE_P(Exports);

TYPED_TEST_P(Exports, ATableHasALineForEachRowInBatchOrder) {
  CacheDriver d = this->Three();
  ExportDriver e(d);
  ExpectChangesNothing(d, [&] {
    const Exported table = e.Table({2, 0, 1, 0}, 3);
    EXPECT_EQ(table.statuses, Statuses(4, kOk));
    EXPECT_EQ(table.words, (Words{5, 0, 0, 1, 2, 0, 3, 4, 0, 1, 2, 0}));
    EXPECT_EQ(table.lengths, (Words{1, 5, 8, 5}));
  });
}

// A batch of 3 padded to 8, and a closed row that has been opened again.
TYPED_TEST_P(Exports, NothingStaleIsInTheTailsOfLinesOrInPaddedOnes) {
  CacheDriver d = this->Make();
  ExportDriver e(d);
  d.Append({0, 1}, {20, 4});
  EXPECT_EQ(e.Table({0}, 6).words, (Words{1, 2, 3, 4, 5, 0}));
  d.Close({0});
  d.Append({0, 2}, {8, 1});
  for (const int32_t sentinel : {0, -1, 0x7fffffff}) {
    const ExportSettings s{.padded_rows = 8, .naming = {.sentinel = sentinel}};
    const Exported table = e.Table({0, 1, 2}, 6, s);
    Words expected(48, sentinel);
    expected[0] = 1;
    expected[1] = 2;
    expected[6] = 6;
    expected[12] = 3;
    EXPECT_EQ(table.words, expected);
    EXPECT_EQ(table.lengths, (Words{8, 4, 1, 0, 0, 0, 0, 0}));
    const Exported csr = e.Csr({0, 1, 2}, 6, s);
    EXPECT_EQ(csr.words, (Words{1, 2, 6, 3, sentinel, sentinel}));
    EXPECT_EQ(csr.indptr, (Words{0, 2, 3, 4, 4, 4, 4, 4, 4}));
    EXPECT_EQ(csr.last, (Words{4, 4, 1, 4, 4, 4, 4, 4}));
    EXPECT_EQ(csr.lengths, table.lengths);
    const Exported slots = e.Slots({0, 1, 2}, {1, 1, 1}, 8, s);
    EXPECT_EQ(slots.slots, (Slots{11, 27, 12, -1, -1, -1, -1, -1}));
    EXPECT_EQ(slots.words, (Words{0, 1, 2, 3, 3, 3, 3, 3, 3}));
  }
}

TYPED_TEST_P(Exports, ReservedBlocksAreNotExported) {
  CacheDriver d = this->Make();
  ExportDriver e(d);
  d.Append({0}, {3});
  d.Reserve({0, 1}, {16, 8});
  EXPECT_EQ(e.Table({0, 1}, 3).words, (Words{1, 0, 0, 0, 0, 0}));
  EXPECT_EQ(e.Csr({0, 1}, 3).indptr, (Words{0, 1, 1}));
}

TYPED_TEST_P(Exports, RowsThatFailAreEmptyWithTheirStatus) {
  CacheDriver d = this->Three();
  ExportDriver e(d);
  const Rows rows = {0, 7, -1, 8, 2};
  const Statuses statuses = {kOk, kClosed, kInvalid, kInvalid, kOk};
  const Exported table = e.Table(rows, 2);
  EXPECT_EQ(table.statuses, statuses);
  EXPECT_EQ(table.words, (Words{1, 2, 0, 0, 0, 0, 0, 0, 5, 0}));
  EXPECT_EQ(table.lengths, (Words{5, 0, 0, 0, 1}));
  const Exported csr = e.Csr(rows, 3);
  EXPECT_EQ(csr.statuses, statuses);
  EXPECT_EQ(csr.indptr, (Words{0, 2, 2, 2, 2, 3}));
  EXPECT_EQ(csr.words, (Words{1, 2, 5}));
  const Exported slots = e.Slots(rows, {2, 1, 1, 1, 1}, 8);
  EXPECT_EQ(slots.statuses, statuses);
  EXPECT_EQ(slots.slots, (Slots{7, 8, -1, -1, -1, 20, -1, -1}));
}

TYPED_TEST_P(Exports, TheCountInMemoryMakesTheOtherRowsPadding) {
  CacheDriver d = this->Three();
  ExportDriver e(d);
  for (const int32_t count : {-1, 0, 2, 3, 9}) {
    const size_t n = static_cast<size_t>(count < 0 ? 0 : (count < 3 ? count : 3));
    Statuses statuses(3, kUnwritten);
    std::fill_n(statuses.begin(), n, kOk);
    const ExportSettings s{.padded_rows = 4, .count = count};
    Words expected = {1, 2, 3, 4, 5, 0, 0, 0};
    std::fill(expected.begin() + static_cast<ptrdiff_t>(2 * n), expected.end(), 0);
    const Exported table = e.Table({0, 1, 2}, 2, s);
    EXPECT_EQ(table.words, expected);
    EXPECT_EQ(table.statuses, statuses);
    const Words indptr = {0, n > 0 ? 2 : 0, n > 1 ? 4 : (n > 0 ? 2 : 0)};
    const Exported csr = e.Csr({0, 1, 2}, 5, s);
    EXPECT_EQ(Words(csr.indptr.begin(), csr.indptr.begin() + 3), indptr);
    EXPECT_EQ(csr.indptr[4], (Words{0, 2, 4, 5})[n]);
    EXPECT_EQ(csr.statuses, statuses);
    EXPECT_EQ(e.Slots({0, 1, 2}, {1, 1, 1}, 4, s).words[4], static_cast<int32_t>(n));
  }
}

TYPED_TEST_P(Exports, BlocksAreCalledAsTheReaderCallsThem) {
  CacheDriver d = this->Three();
  ExportDriver e(d);
  // Two kernel blocks to a block: as many as the tokens need.
  EXPECT_EQ(e.Table({0, 2}, 4, {.naming = {.kernel_blocks = 2, .sentinel = -1}}).words,
            (Words{2, 3, 4, -1, 10, -1, -1, -1}));
  const Exported csr = e.Csr({0, 2}, 5, {.naming = {.kernel_blocks = 2, .id_offset = -1}});
  EXPECT_EQ(csr.words, (Words{0, 1, 2, 8, 0}));
  EXPECT_EQ(csr.last, (Words{1, 1}));
  // Token slots.
  EXPECT_EQ(e.Table({0}, 6, {.naming = {.kernel_blocks = 4}}).words, (Words{4, 5, 6, 7, 8, 0}));
  // A place each for K and V of 3 layers, in lines of their own.
  EXPECT_EQ(e.Table({0}, 2, {.naming = {.scale = 6, .offset = 1}}, 4).words,
            (Words{7, 13, kUnwrittenWord, kUnwrittenWord}));
  EXPECT_EQ(e.Slots({0}, {1}, 1, {.naming = {.id_offset = -1}}).slots, (Slots{4}));
}

TYPED_TEST_P(Exports, ARowThatIsTooLongIsTableFullAndEmpty) {
  CacheDriver d = this->Three();
  ExportDriver e(d);
  const Exported table = e.Table({2, 0, 2}, 1);
  EXPECT_EQ(table.statuses, (Statuses{kOk, kTableFull, kOk}));
  EXPECT_EQ(table.words, (Words{5, 0, 5}));
  EXPECT_EQ(table.lengths, (Words{1, 0, 1}));
  // In compressed rows nothing has a place of its own behind one that does not fit.
  d.Append({3}, {0});
  const Exported csr = e.Csr({0, 2, 1, 3, 2}, 4);
  EXPECT_EQ(csr.statuses, (Statuses{kOk, kOk, kTableFull, kOk, kTableFull}));
  EXPECT_EQ(csr.indptr, (Words{0, 2, 3, 3, 3, 3}));
  EXPECT_EQ(csr.words, (Words{1, 2, 5, 0}));
  EXPECT_EQ(csr.last, (Words{1, 1, 4, 4, 4}));
  EXPECT_EQ(csr.lengths, (Words{5, 1, 0, 0, 0}));
}

TYPED_TEST_P(Exports, SlotsOfAnyRange) {
  CacheDriver d = this->Three();
  ExportDriver e(d);
  const Words first = {3, 0, 1, -1, 0, 0};
  const Exported slots = e.Slots({0, 1, 2, 0, 0, 0}, {2, 3, 0, 1, -1, 6}, 14, {}, first);
  EXPECT_EQ(slots.statuses, (Statuses{kOk, kOk, kOk, kInvalid, kInvalid, kInvalid}));
  EXPECT_EQ(slots.slots, (Slots{7, 8, 12, 13, 14, -1, -1, -1, -1, -1, -1, -1, -1, -1}));
  EXPECT_EQ(slots.words, (Words{0, 2, 5, 5, 6, 6, 12}));
  const Exported short_of_room = e.Slots({0, 1, 2}, {2, 2, 1}, 3);
  EXPECT_EQ(short_of_room.statuses, (Statuses{kOk, kInvalid, kInvalid}));
  EXPECT_EQ(short_of_room.slots, (Slots{7, 8, -1}));
  EXPECT_EQ(short_of_room.words, (Words{0, 2, 3, 3}));
}

// Every token belongs to one of the ranks, and each numbers its own densely.
TYPED_TEST_P(Exports, RanksShareTheTokensOut) {
  CacheDriver d = this->Three();
  ExportDriver e(d);
  const auto of = [&](int32_t rank, int32_t interleave) {
    return e.Slots({1}, {8}, 8, {}, {}, {.world = 2, .rank = rank, .interleave = interleave}).slots;
  };
  EXPECT_EQ(of(0, 1), (Slots{6, -1, 7, -1, 8, -1, 9, -1}));
  EXPECT_EQ(of(1, 1), (Slots{-1, 6, -1, 7, -1, 8, -1, 9}));
  EXPECT_EQ(of(0, 2), (Slots{6, 7, -1, -1, 8, 9, -1, -1}));
  EXPECT_EQ(of(1, 2), (Slots{-1, -1, 6, 7, -1, -1, 8, 9}));
}

TYPED_TEST_P(Exports, ADraftIsSeenOnlyByItsBranch) {
  CacheDriver d = this->Three(this->WithDrafts());
  ExportDriver e(d);
  const Slots drafted = e.BeginDraft({0, 1}, {6, 2}, {2, 1});
  // Which blocks those are is BeginDraft's business: the slots say it.
  const auto block = [&](size_t slot) { return static_cast<int32_t>(drafted[slot] / 4); };
  EXPECT_EQ(e.Table({0, 1}, 3).words, (Words{1, 2, 0, 3, 4, 0}));
  EXPECT_EQ(e.Table({0, 1}, 3, {.branches = Words{-1, 0}}).words,
            (Words{1, 2, 0, 3, 4, block(12)}));
  for (const int32_t branch : {0, 1}) {
    const size_t at = static_cast<size_t>(branch) * 6;
    const ExportSettings s{.branches = Words{branch}};
    const Words blocks = {1, block(at), block(at + 3)};
    const Exported table = e.Table({0}, 3, s);
    EXPECT_EQ(table.words, blocks);
    EXPECT_EQ(table.lengths, Words{11});
    const Exported csr = e.Csr({0}, 3, s);
    EXPECT_EQ(csr.words, blocks);
    EXPECT_EQ(csr.last, Words{3});
    EXPECT_EQ(e.Slots({0}, {6}, 6, s).slots,
              Slots(drafted.begin() + static_cast<ptrdiff_t>(at),
                    drafted.begin() + static_cast<ptrdiff_t>(at) + 6));
  }
  const Exported bad = e.Table({0, 1, 2, 0}, 3, {.branches = Words{2, 1, 0, -2}});
  EXPECT_EQ(bad.statuses, (Statuses{kInvalid, kInvalid, kWrongState, kInvalid}));
  EXPECT_EQ(bad.words, Words(12, 0));
  const int32_t tail = block(6);
  const int32_t next = block(9);
  EXPECT_EQ(e.CommitDraft({0, 1}, {4, 0}, {1, 0}), Statuses(2, kOk));
  EXPECT_EQ(e.Table({0, 1}, 3).words, (Words{1, tail, next, 3, 4, 0}));
  EXPECT_EQ(e.Table({0}, 3, {.branches = Words{0}}).statuses, Statuses{kWrongState});
}

// More rows than a group has lanes, and wide lines; every form against the rows themselves.
TYPED_TEST_P(Exports, ManyRowsOfAnyLength) {
  Random random(BaseSeed());
  const KvCacheOptions options = {
      .num_blocks = 4000, .block_tokens = 2, .max_sequences = 60, .max_blocks_per_sequence = 600};
  CacheDriver d = this->Make(options);
  ExportDriver e(d);
  Rows rows;
  Words table, indptr = {0}, indices;
  Tokens lengths;
  for (int32_t row = 0; row < 60; ++row) {
    rows.push_back((row * 7) % 60);
    lengths.push_back(static_cast<int32_t>(row == 50 ? 1150 : random.Below(60)));
  }
  d.Append(rows, lengths);
  for (size_t i = 0; i < rows.size(); ++i) {
    Ids entries = d.WholeRow(rows[i]);
    table.insert(table.end(), entries.begin(), entries.end());
    entries.resize(static_cast<size_t>(lengths[i] + 1) / 2);
    indices.insert(indices.end(), entries.begin(), entries.end());
    indptr.push_back(static_cast<int32_t>(indices.size()));
  }
  const Exported dense = e.Table(rows, 600);
  EXPECT_EQ(dense.words, table);
  EXPECT_EQ(dense.lengths, lengths);
  const Exported csr = e.Csr(rows, static_cast<int32_t>(indices.size()));
  EXPECT_EQ(csr.words, indices);
  EXPECT_EQ(csr.indptr, indptr);
  const Exported slots = e.Slots(rows, lengths, 6000);
  EXPECT_EQ(slots.statuses, Statuses(60, kOk));
  for (size_t i = 0; i < rows.size(); ++i) {
    for (int32_t t = 0; t < lengths[i]; ++t) {
      ASSERT_EQ(slots.slots[static_cast<size_t>(slots.words[i] + t)],
                int64_t{table[i * 600 + static_cast<size_t>(t / 2)]} * 2 + t % 2);
    }
  }
}

REGISTER_TYPED_TEST_SUITE_P(Exports, ATableHasALineForEachRowInBatchOrder,
                            NothingStaleIsInTheTailsOfLinesOrInPaddedOnes,
                            ReservedBlocksAreNotExported, RowsThatFailAreEmptyWithTheirStatus,
                            TheCountInMemoryMakesTheOtherRowsPadding,
                            BlocksAreCalledAsTheReaderCallsThem,
                            ARowThatIsTooLongIsTableFullAndEmpty, SlotsOfAnyRange,
                            RanksShareTheTokensOut, ADraftIsSeenOnlyByItsBranch,
                            ManyRowsOfAnyLength);

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_CONFORMANCE_EXPORT_SUITE_H_
