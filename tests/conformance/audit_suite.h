// SPDX-License-Identifier: Apache-2.0
//
// tests/conformance/audit_suite.h
//
// Audit: what it counts, and that it sees every kind of damage.

#ifndef KVPAGE_TESTS_CONFORMANCE_AUDIT_SUITE_H_
#define KVPAGE_TESTS_CONFORMANCE_AUDIT_SUITE_H_

#include "tests/conformance/fixture.h"

namespace kvpage::test {

template <class Backend>
class AuditReports : public ConformanceTest<Backend> {
 protected:
  // Flips bits of one word, expects that the audit says so, and flips them back.
  template <class T>
  static void ExpectSeen(CacheDriver& d, const char* what, T* word, T flip,
                         const std::function<bool(const AuditReport&)>& is_right) {
    SCOPED_TRACE(what);
    const T good = d.Read(word);
    ASSERT_TRUE(d.Audit().ok());
    d.Write(word, static_cast<T>(good ^ flip));
    const AuditReport report = d.Audit();
    EXPECT_FALSE(report.ok());
    EXPECT_TRUE(is_right(report));
    d.Write(word, good);
    EXPECT_TRUE(d.Audit().ok());
  }
};

TYPED_TEST_SUITE_P(AuditReports);

TYPED_TEST_P(AuditReports, ANewCacheIsAllFree) {
  CacheDriver d = this->Make();
  const AuditReport report = d.Audit();
  EXPECT_TRUE(report.ok());
  EXPECT_EQ(report.num_blocks, 100u);
  EXPECT_EQ(report.free_blocks, 100u);
  EXPECT_EQ(report.owned_blocks, 0u);
  EXPECT_EQ(report.references, 0u);
  EXPECT_EQ(report.open_rows, 0u);
}

TYPED_TEST_P(AuditReports, CountsRowsReferencesAndBlocksHeldOutside) {
  CacheDriver d = this->Make();
  d.Append({0, 3}, {10, 4});
  d.Fork({1}, {0}, {9});
  d.Share({1, 4, 4});
  const AuditReport report = d.Audit();
  EXPECT_TRUE(report.ok());
  EXPECT_EQ(report.owned_blocks, 5u);
  EXPECT_EQ(report.free_blocks, 95u);
  EXPECT_EQ(report.open_rows, 3u);
  EXPECT_EQ(report.table_references, 7u);
  EXPECT_EQ(report.references, 10u);
  EXPECT_EQ(report.outside_blocks, 2u);
}

TYPED_TEST_P(AuditReports, TheWorkspaceListsWhatIsHeldOutside) {
  CacheDriver d = this->Make();
  d.Append({0}, {12});
  d.Share({2, 3, 3});
  const OwnedMemory words = *OwnedMemory::Allocate(*d.access().own, 100 * sizeof(uint32_t), 256);
  const OwnedMemory place = *OwnedMemory::Allocate(*d.access().own, sizeof(AuditReport), 256);
  auto* const workspace = static_cast<uint32_t*>(words.get());
  auto* const report = static_cast<AuditReport*>(place.get());
  for (uint32_t i = 0; i < 100; ++i) d.Write(&workspace[i], 77u);
  EXPECT_TRUE(d.cache().Audit(d.stream(), report, absl::MakeSpan(workspace, 100)).ok());
  EXPECT_TRUE(d.cache().Synchronize(d.stream()).ok());
  EXPECT_TRUE(d.Read(report).ok());
  std::vector<uint32_t> expected(100, 0);
  expected[1] = 1;
  expected[2] = 2;
  EXPECT_EQ(d.Read(workspace, 100), expected);
}

TYPED_TEST_P(AuditReports, SeesDamageToFreeBits) {
  CacheDriver d = this->Make();
  d.Append({0}, {12});
  uint64_t* const leaves = d.cache().pool().bits.leaves;
  uint64_t* const summaries = d.cache().pool().bits.summaries;
  this->ExpectSeen(d, "an owned block is free as well", &leaves[0], uint64_t{1} << 1,
                   [](auto& r) { return r.block_errors == 1 && r.gate_errors == 1; });
  this->ExpectSeen(d, "a free block is lost", &leaves[1], uint64_t{1} << 35, [](auto& r) {
    return r.block_errors == 1 && r.gate_errors == 1 && r.free_blocks + r.owned_blocks == 99;
  });
  this->ExpectSeen(d, "free blocks are hidden by the summary", &summaries[1], uint64_t{1},
                   [](auto& r) { return r.summary_errors == 36; });
}

TYPED_TEST_P(AuditReports, SeesDamageToTheGate) {
  CacheDriver d = this->Make();
  d.Append({0}, {12});
  const GateStorage& gate = d.cache().pool().gate;
  for (uint32_t counter = 0; counter < 7; ++counter) {  // 3 of each shard, and the lock
    this->ExpectSeen(d, "a counter has drifted", &gate.words[counter * gate.stride], uint64_t{1},
                     [](auto& r) { return r.gate_errors >= 1 && r.block_errors == 0; });
  }
}

TYPED_TEST_P(AuditReports, SeesDamageToBlockWords) {
  CacheDriver d = this->Make();
  d.Append({0}, {12});
  d.Share({2});
  const BlockWordsStorage& words = d.cache().pool().words;
  const auto word = [&](BlockId id) { return &words.words[words.layout.Index(id - 1)]; };
  const auto flip = [](int32_t a, int32_t b) {
    return BlockState{a, 0}.Word() ^ BlockState { b, 0 }.Word();
  };
  this->ExpectSeen(d, "a block is owned and free", word(50), flip(0, 1),
                   [](auto& r) { return r.block_errors == 1 && r.owned_blocks == 4; });
  this->ExpectSeen(d, "a free block has a count below nothing", word(50), flip(0, -1),
                   [](auto& r) { return r.block_errors == 1 && r.owned_blocks == 3; });
  this->ExpectSeen(d, "a block is neither owned nor free", word(3), flip(1, 0), [](auto& r) {
    return r.block_errors == 1 && r.row_errors == 1 && r.owned_blocks == 2;
  });
}

TYPED_TEST_P(AuditReports, SeesDamageToTheTable) {
  CacheDriver d = this->Make();
  d.Append({0, 1}, {10, 4});
  const PageTableStorage& table = d.cache().table();
  const auto row_error = [](auto& r) { return r.row_errors == 1; };
  const auto entry = [&](uint32_t row, uint32_t index) { return &table.entries[row * 6 + index]; };
  this->ExpectSeen(d, "two rows name a block that has one reference", entry(1, 0), 4u ^ 2u,
                   [](auto& r) { return r.reference_errors == 1 && r.outside_blocks == 1; });
  this->ExpectSeen(d, "an entry is a free block", entry(1, 0), 4u ^ 9u, row_error);
  this->ExpectSeen(d, "an entry is no block", entry(1, 0), 4u ^ 101u, row_error);
  this->ExpectSeen(d, "the tail of a row is not null", entry(1, 1), 4u, row_error);
  this->ExpectSeen(d, "a closed row has an entry", entry(5, 0), 4u, row_error);
  uint64_t* const words = table.sequence_words;
  const auto word = [&](uint32_t row) { return &words[table.sequence_layout.Index(row)]; };
  this->ExpectSeen(d, "a row is longer than its blocks", word(0), uint64_t{10 ^ 13}, row_error);
  this->ExpectSeen(d, "a closed row holds blocks", word(1), uint64_t{1} << 63 | 4, row_error);
  this->ExpectSeen(d, "a row holds more than it can", &table.held_blocks[1], 1u ^ 7u,
                   [](auto& r) { return r.row_errors >= 1; });
  this->ExpectSeen(d, "an entry in use is null", entry(1, 0), 4u,
                   [](auto& r) { return r.row_errors == 1 && r.outside_blocks == 1; });
  this->ExpectSeen(d, "a row is still claimed", &table.claims[2], ~0u ^ 1u, row_error);
}

REGISTER_TYPED_TEST_SUITE_P(AuditReports, ANewCacheIsAllFree,
                            CountsRowsReferencesAndBlocksHeldOutside,
                            TheWorkspaceListsWhatIsHeldOutside, SeesDamageToFreeBits,
                            SeesDamageToTheGate, SeesDamageToBlockWords, SeesDamageToTheTable);

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_CONFORMANCE_AUDIT_SUITE_H_
