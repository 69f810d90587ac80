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

// The audit finds nothing, and this many blocks are free.
inline void ExpectSound(CacheDriver& driver, uint64_t free_blocks) {
  const AuditReport report = driver.Audit();
  EXPECT_TRUE(report.ok());
  EXPECT_EQ(report.free_blocks, free_blocks);
}

// Runs the operation and expects that it leaves the cache as it was.
inline void ExpectChangesNothing(CacheDriver& driver, const std::function<void()>& operation) {
  const uint64_t before = driver.Hash();
  operation();
  EXPECT_EQ(driver.Hash(), before) << "the state has changed";
  EXPECT_TRUE(driver.Audit().ok());
}

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_CONFORMANCE_FIXTURE_H_
