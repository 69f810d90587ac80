// SPDX-License-Identifier: Apache-2.0
//
// Whole replays on the CPU.

#include "tools/replay/replay.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "tests/replay/faulty_kv_cache.h"
#include "tools/replay/synthetic.h"

namespace kvpage::replay {
namespace {

constexpr KvCacheOptions kSmall = {
    .num_blocks = 512, .block_tokens = 16, .max_sequences = 32, .max_blocks_per_sequence = 256};

absl::StatusOr<ReplayResult> ReplayOn(Backend& backend, const ReplayOptions& options) {
  Progress progress(nullptr, 0);
  return Replay(backend, MakeSyntheticWorkload(100, 1), options, progress);
}

TEST(ReplayTest, IsRepeatable) {
  std::vector<ReplayResult> results;
  for (int i = 0; i < 2; ++i) {
    auto backend = CreateBackend(BackendKind::kCpu, kSmall);
    ASSERT_TRUE(backend.ok());
    auto replayed = ReplayOn(*backend, {.serving = {}, .audit_every = 50});
    ASSERT_TRUE(replayed.ok()) << replayed.status().message();
    results.push_back(*replayed);
  }
  EXPECT_EQ(results[0].state_hash, results[1].state_hash);
  EXPECT_EQ(results[0].counts.preemptions, results[1].counts.preemptions);
  EXPECT_EQ(results[0].counts.served + results[0].counts.rejected(), 100u);
  EXPECT_GT(results[0].counts.preemptions, 0u);
  EXPECT_TRUE(results[0].audits.clean());
  EXPECT_EQ(results[0].audits.count, results[0].counts.steps / 50 + 1);
  EXPECT_EQ(results[0].audits.last.free_blocks, kSmall.num_blocks);
  EXPECT_EQ(results[0].usage.blocks_allocated(), results[0].usage.blocks_freed());
  EXPECT_GE(results[0].wall_seconds, results[0].operations().seconds);
}

TEST(ReplayTest, StopsAtTheFirstAuditThatFails) {
  auto faulty = test::FaultyKvCache::Create(kSmall);
  // A row with a block that the server knows nothing of: what a leak looks like.
  int32_t row = 31, tokens = 1, appends = 0;
  OpStatus status;
  const RowBatch batch = {.rows = &row, .num_rows = 1, .statuses = &status};
  ASSERT_TRUE(faulty->Reserve(StreamRef::Default(), {.batch = batch, .tokens = &tokens}).ok());
  ASSERT_EQ(status, OpStatus::kOk);
  faulty->set_fault([&](const test::Call& call, OpStatus*) {
    appends += call.operation == test::Operation::kAppend ? 1 : 0;
    return absl::OkStatus();
  });
  Backend backend{.batch_memory = std::make_unique<HostMemoryResource>(),
                  .cache = std::move(faulty)};
  const auto result = ReplayOn(backend, {.serving = {}, .audit_every = 3});
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_FALSE(result->audits.clean());
  EXPECT_EQ(result->audits.count, 1u);
  EXPECT_EQ(appends, 3);
}

TEST(ReplayTest, PassesOnThatTheCacheFails) {
  auto faulty = test::FaultyKvCache::Create(kSmall);
  faulty->set_synchronize_status(absl::UnavailableError("gone"));
  Backend backend{.batch_memory = std::make_unique<HostMemoryResource>(),
                  .cache = std::move(faulty)};
  EXPECT_TRUE(absl::IsUnavailable(ReplayOn(backend, {}).status()));
}

TEST(BackendTest, PassesOnWhyThereCanBeNoCache) {
  EXPECT_TRUE(absl::IsInvalidArgument(CreateBackend(BackendKind::kCpu, {}).status()));
}

}  // namespace
}  // namespace kvpage::replay
