// SPDX-License-Identifier: Apache-2.0
//
// Batch operations on one thread while other threads allocate and release in the same pool, and
// others read the page table. Everybody's budget is kept, so nobody may ever be told Full.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "kvpage/core/page_table_ref.h"
#include "kvpage/kv_cache.h"
#include "tests/conformance/budget_workloads.h"
#include "tests/conformance/cpu_workload_backends.h"
#include "tests/support/random.h"
#include "tests/support/test_seed.h"

namespace kvpage::test {
namespace {

constexpr uint32_t kRows = 12;
constexpr uint32_t kRowBlocks = 20;
constexpr uint32_t kBlockTokens = 4;
constexpr uint32_t kRowTokens = kRowBlocks * kBlockTokens;
constexpr uint32_t kThreads = 6;
constexpr uint32_t kGatherers = 2;
constexpr uint32_t kPerGatherer = 70;  // more than a shard has
constexpr uint32_t kBudget = kGatherers * kPerGatherer + (kThreads - kGatherers);
constexpr uint32_t kBatcher = 1000;  // its mark

using Site = PoolSite<CpuAtomics, CpuMarks>;

class BatchBesideThreads : public testing::Test {
 protected:
  BatchBesideThreads() {
    auto cache = CreateCpuKvCache({.num_blocks = kRows * kRowBlocks + kBudget,
                                   .block_tokens = kBlockTokens,
                                   .max_sequences = kRows,
                                   .max_blocks_per_sequence = kRowBlocks,
                                   .blocks_per_shard = 64});
    EXPECT_TRUE(cache.ok()) << cache.status();
    cache_ = *std::move(cache);
    holders_.resize(cache_->pool().num_blocks() + 1);
    kv_.resize(holders_.size());
    ids_.resize(kThreads * kPerGatherer);
    site_.storage = cache_->pool();
    site_.holders = holders_.data();
    site_.kv = kv_.data();
    site_.ids = ids_.data();
    site_.ids_per_lane = kPerGatherer;
    site_.findings = &findings_;
  }

  // Runs `batches` while the other threads work, until all have done enough.
  template <class Batches>
  void RunBeside(Batches batches) {
    std::atomic<bool> done{false};
    std::vector<std::thread> threads;
    const Budgets<Site> workload{.site = site_,
                                 .rounds = ScaledCount(200),
                                 .gatherers = kGatherers,
                                 .gather_per_lane = kPerGatherer,
                                 .greedy = 0,
                                 .impossible = cache_->pool().num_blocks()};
    for (uint32_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        ThreadGroup me(t + 1);
        do {
          workload(me, t, t);
        } while (!done.load(std::memory_order_relaxed));
      });
    }
    batches();
    done.store(true, std::memory_order_relaxed);
    for (std::thread& thread : threads) thread.join();

    EXPECT_EQ(findings_.errors(), 0u);
    EXPECT_EQ(findings_.full, 0u);
    auto report = cache_->AuditNow(StreamRef::Default());
    ASSERT_TRUE(report.ok());
    EXPECT_TRUE(report->ok());
    EXPECT_EQ(report->outside_blocks, 0u);
    uint64_t lives = 0;
    for (const KvCookie& cookie : kv_) lives += cookie.lives;
    EXPECT_EQ(lives, findings_.taken);
  }

  PageTableRef<CpuAtomics> table() const { return PageTableRef<CpuAtomics>(cache_->table()); }

  void Append(int32_t row, int32_t tokens) {
    const uint32_t held = Held(row);
    OpStatus status;
    ASSERT_TRUE(cache_
                    ->Append(StreamRef::Default(),
                             {.batch = {.rows = &row, .num_rows = 1, .statuses = &status},
                              .tokens = &tokens})
                    .ok());
    ASSERT_EQ(status, OpStatus::kOk);
    for (uint32_t i = held; i < Held(row); ++i) site_.Receive(table().Entry(row, i), kBatcher);
  }
  void Truncate(int32_t row, int32_t tokens) {
    const uint32_t kept = std::min<uint32_t>(Held(row), CeilDiv(tokens, kBlockTokens));
    for (uint32_t i = kept; i < Held(row); ++i) site_.Leave(table().Entry(row, i), kBatcher);
    OpStatus status;
    ASSERT_TRUE(cache_
                    ->Truncate(StreamRef::Default(),
                               {.batch = {.rows = &row, .num_rows = 1, .statuses = &status},
                                .tokens = &tokens})
                    .ok());
    ASSERT_EQ(status, OpStatus::kOk);
  }
  // All rows that are open, in one batch.
  void CloseAll() {
    std::vector<int32_t> rows;
    for (int32_t row = 0; row < static_cast<int32_t>(kRows); ++row) {
      if (!table().Sequence(row).open) continue;
      rows.push_back(row);
      for (uint32_t i = 0; i < Held(row); ++i) site_.Leave(table().Entry(row, i), kBatcher);
    }
    std::vector<OpStatus> statuses(rows.size());
    ASSERT_TRUE(
        cache_
            ->Close(StreamRef::Default(), {.batch = {.rows = rows.data(),
                                                     .num_rows = static_cast<int32_t>(rows.size()),
                                                     .statuses = statuses.data()}})
            .ok());
    for (const OpStatus status : statuses) ASSERT_EQ(status, OpStatus::kOk);
  }
  uint32_t Held(int32_t row) const { return cache_->table().held_blocks[row]; }

  std::unique_ptr<KvCache> cache_;
  std::vector<uint32_t> holders_;
  std::vector<KvCookie> kv_;
  std::vector<BlockId> ids_;
  Findings findings_ = {};
  Site site_;
};

TEST_F(BatchBesideThreads, NobodyIsToldFullAndNoBlockHasTwoHolders) {
  RunBeside([&] {
    Random random(BaseSeed());
    for (uint32_t i = 0; i < ScaledCount(20000) && !HasFatalFailure(); ++i) {
      const int32_t row = static_cast<int32_t>(random.Below(kRows));
      const int32_t length = table().Sequence(row).kv_len;
      if (random.Percent(1)) {
        CloseAll();
      } else if (random.Percent(70) || !table().Sequence(row).open) {
        Append(row, static_cast<int32_t>(random.Below(kRowTokens - length + 1)));
      } else {
        Truncate(row, static_cast<int32_t>(random.Below(length + 1)));
      }
    }
    CloseAll();
  });
}

// Readers of a row that only grows see a slot for every token that its length promises, and always
// the same.
TEST_F(BatchBesideThreads, ReadersOfAGrowingRowSeeSettledSlots) {
  RunBeside([&] {
    for (uint32_t i = 0; i < ScaledCount(60) && !HasFatalFailure(); ++i) {
      std::atomic<bool> grown{false};
      std::thread reader([&] {
        std::vector<int64_t> seen(kRowTokens, -1);
        bool last = false;
        while (!last) {
          last = grown.load(std::memory_order_acquire);
          const int32_t length = table().Sequence(3).kv_len;
          for (int32_t position = 0; position < length; ++position) {
            const int64_t slot = table().Slot(3, position);
            const int64_t block = slot / kBlockTokens;
            EXPECT_TRUE(slot % kBlockTokens == position % kBlockTokens && block >= 1 &&
                        block <= cache_->pool().num_blocks());
            EXPECT_TRUE(seen[position] == -1 || seen[position] == slot);
            seen[position] = slot;
          }
          EXPECT_EQ(table().Slot(3, kRowTokens), -1);
        }
        EXPECT_TRUE(HasFailure() || seen[kRowTokens - 1] != -1);
      });
      for (uint32_t token = 0; token < kRowTokens && !HasFatalFailure(); ++token) Append(3, 1);
      grown.store(true, std::memory_order_release);
      reader.join();
      CloseAll();
    }
  });
}

}  // namespace
}  // namespace kvpage::test
