// SPDX-License-Identifier: Apache-2.0
//
// tests/conformance/fixture.h
//
// What the conformance suites have in common: a small cache of the backend, and the check that
// nothing changed. Suites are written once, as TYPED_TEST_P with the backend as the type
// (tests/support/backend.h); all_suites.h runs them all for one backend.

#ifndef KVPAGE_TESTS_CONFORMANCE_FIXTURE_H_
#define KVPAGE_TESTS_CONFORMANCE_FIXTURE_H_

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "tests/support/backend.h"

namespace kvpage::test {

using enum OpStatus;

// Blocks of 4 tokens, rows of 6 blocks, and more than a shard of them.
inline constexpr KvCacheOptions kSmall = {.num_blocks = 100,
                                          .block_tokens = 4,
                                          .max_sequences = 8,
                                          .max_blocks_per_sequence = 6,
                                          .blocks_per_shard = 64};

// The same with drafts of up to 10 tokens on up to 3 branches.
inline constexpr KvCacheOptions kWithDrafts = {.num_blocks = 100,
                                               .block_tokens = 4,
                                               .max_sequences = 8,
                                               .max_blocks_per_sequence = 6,
                                               .blocks_per_shard = 64,
                                               .max_draft_tokens = 10,
                                               .max_draft_branches = 3};

inline KvCacheOptions WithBlocks(uint32_t num_blocks) {
  KvCacheOptions options = kSmall;
  options.num_blocks = num_blocks;
  return options;
}

template <class Backend>
class ConformanceTest : public testing::Test {
 protected:
  static CacheDriver Make(const KvCacheOptions& options = kSmall) {
    return Drive<Backend>(options);
  }
};

// The audit finds nothing, and so many blocks are free, and so many wait for a fence.
inline void ExpectSound(CacheDriver& driver, uint64_t free_blocks, uint64_t pending_blocks = 0) {
  const AuditReport report = driver.Audit();
  EXPECT_TRUE(report.ok());
  EXPECT_EQ(report.free_blocks, free_blocks);
  EXPECT_EQ(report.pending_blocks, pending_blocks);
  EXPECT_EQ(report.counted_pending_blocks, pending_blocks);
  EXPECT_EQ(report.free_blocks + report.owned_blocks + report.pending_blocks, report.num_blocks);
}

// Runs the operation and expects that it leaves the cache as it was.
inline void ExpectChangesNothing(CacheDriver& driver, const std::function<void()>& operation) {
  const uint64_t hash = driver.Hash();
  const CacheSnapshot before = driver.Snapshot();
  operation();
  EXPECT_EQ(driver.Hash(), hash) << "the state has changed";
  EXPECT_EQ(Difference(driver.Snapshot(), before), "");
  EXPECT_TRUE(driver.Audit().ok());
}

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_CONFORMANCE_FIXTURE_H_
