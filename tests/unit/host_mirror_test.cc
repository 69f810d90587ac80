// SPDX-License-Identifier: Apache-2.0
//
// The mirror read while operations write it, and its ring when it goes round. What the operations
// report is tested on every backend (tests/conformance/mirror_suite.h).

#include "kvpage/core/host_mirror.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "kvpage/kv_cache.h"

namespace kvpage::test {
namespace {

std::unique_ptr<KvCache> Make(bool mirror) {
  return *CreateCpuKvCache({.num_blocks = 64,
                            .block_tokens = 4,
                            .max_sequences = 4,
                            .max_blocks_per_sequence = 16,
                            .mirror = mirror});
}

OpStatus Release(KvCache& cache, BlockId id, uint64_t owner = 0) {
  OpStatus status = OpStatus::kOk;
  EXPECT_TRUE(cache
                  .Release(StreamRef::Default(),
                           {.ids = &id, .num_ids = 1, .statuses = &status, .owner = owner})
                  .ok());
  return status;
}

TEST(HostMirror, WithoutTheOptionThereIsNothingToSee) {
  const std::unique_ptr<KvCache> cache = Make(false);
  EXPECT_EQ(Release(*cache, 1), OpStatus::kDoubleFree);
  EXPECT_EQ(cache->Peek().operations, 0u);
  EXPECT_EQ(cache->PeekLengthBound(0), 0u);
  Misuse misuse;
  EXPECT_EQ(cache->PeekMisuses(0, {&misuse, 1}), 0u);
}

TEST(HostMirror, BeforeTheFirstOperationThereIsNothingToSee) {
  const std::unique_ptr<KvCache> cache = Make(true);
  EXPECT_EQ(cache->Peek().operations, 0u);
  Misuse misuse;
  EXPECT_EQ(cache->PeekMisuses(0, {&misuse, 1}), 0u);
}

TEST(HostMirror, KeepsTheLatestReportsWhenTheRingGoesRound) {
  const std::unique_ptr<KvCache> cache = Make(true);
  constexpr uint64_t kReports = MirrorStorage::kRingEntries + 10;
  for (uint64_t i = 0; i < kReports; ++i) Release(*cache, 1 + i % 64, i);
  EXPECT_EQ(cache->Peek().misuses, kReports);
  std::vector<Misuse> reports(kReports);
  ASSERT_EQ(cache->PeekMisuses(0, absl::MakeSpan(reports)), MirrorStorage::kRingEntries);
  for (uint64_t i = 0; i < MirrorStorage::kRingEntries; ++i) {
    EXPECT_EQ(reports[i].number, i + 10);
    EXPECT_EQ(reports[i].owner, i + 10);
    EXPECT_EQ(reports[i].block, 1 + (i + 10) % 64);
  }
  // From a number on, and no more than there is room for.
  ASSERT_EQ(cache->PeekMisuses(kReports - 3, absl::MakeSpan(reports)), 3u);
  EXPECT_EQ(reports[0].number, kReports - 3);
  ASSERT_EQ(cache->PeekMisuses(20, absl::MakeSpan(reports).first(2)), 2u);
  EXPECT_EQ(reports[1].number, 21u);
}

// Every operation takes or returns four blocks, and the counters say so together.
TEST(HostMirror, CountersThatAreSeenBelongTogether) {
  const std::unique_ptr<KvCache> cache = Make(true);
  constexpr uint64_t kOperations = 4000;
  std::atomic<bool> started = false;
  std::thread reader([&] {
    uint64_t last = 0;
    do {
      const MirrorCounters seen = cache->Peek();
      started.store(true);
      ASSERT_GE(seen.operations, last);
      last = seen.operations;
      if (last == 0) continue;
      ASSERT_EQ(seen.free_blocks, last % 2 == 1 ? 60u : 64u);
      ASSERT_EQ(seen.most_owned_blocks, 4u);
    } while (last < kOperations);
  });
  while (!started.load()) std::this_thread::yield();
  const int32_t row = 0, tokens = 16;
  OpStatus status;
  const RowBatch batch = {.rows = &row, .num_rows = 1, .statuses = &status};
  for (uint64_t i = 0; i < kOperations; i += 2) {
    EXPECT_TRUE(cache->Append(StreamRef::Default(), {.batch = batch, .tokens = &tokens}).ok());
    EXPECT_TRUE(cache->Close(StreamRef::Default(), {.batch = batch}).ok());
  }
  reader.join();
}

}  // namespace
}  // namespace kvpage::test
