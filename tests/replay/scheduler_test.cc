// SPDX-License-Identifier: Apache-2.0
//
// What the serving loop asks of a cache, and in which order.

#include "tools/replay/scheduler.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "kvpage/core/bits.h"
#include "tests/replay/serving.h"
#include "tests/support/random.h"
#include "tests/support/test_seed.h"
#include "tools/replay/audit_check.h"

namespace kvpage::test {
namespace {

using replay::Admission;
using replay::ServingOptions;

constexpr KvCacheOptions kRoomy = {
    .num_blocks = 1000, .block_tokens = 16, .max_sequences = 8, .max_blocks_per_sequence = 100};

// 7 blocks of one token.
constexpr KvCacheOptions kSeven = {
    .num_blocks = 7, .block_tokens = 1, .max_sequences = 4, .max_blocks_per_sequence = 100};

using Rows = std::vector<int32_t>;

TEST(SchedulerTest, PrefillsInChunksAndDecodesOneTokenAStep) {
  Serving s({MakeRequest(10, 3)}, kRoomy, {.chunk_tokens = 4});
  ASSERT_TRUE(s.Run().ok());
  std::vector<int32_t> tokens;
  for (const Call& call : s.CallsOf(Operation::kAppend)) {
    ASSERT_EQ(call.tokens.size(), 1u);
    tokens.push_back(call.tokens[0]);
  }
  // The last chunk gives the first token, so that two are left; the third needs no slot.
  EXPECT_EQ(tokens, (Rows{4, 4, 2, 1, 1}));
  EXPECT_EQ(s.scheduler.counts().steps, 5u);
  EXPECT_EQ(s.scheduler.counts().prompt_tokens, 10u);
  EXPECT_EQ(s.scheduler.counts().generated_tokens, 3u);
}

TEST(SchedulerTest, DoesNotDecodeForOneTokenOrNone) {
  for (uint32_t output : {0u, 1u}) {
    Serving s({MakeRequest(10, output)}, kRoomy, {});
    ASSERT_TRUE(s.Run().ok());
    EXPECT_EQ(s.CallsOf(Operation::kAppend).size(), 1u);
    EXPECT_EQ(s.scheduler.counts().served, 1u);
    EXPECT_EQ(s.scheduler.counts().generated_tokens, output);
  }
}

TEST(SchedulerTest, PutsDecodesFirstAndKeepsToTheTokensOfAStep) {
  Serving s({MakeRequest(2, 9), MakeRequest(100, 2), MakeRequest(100, 2)}, kRoomy,
            {.chunk_tokens = 6, .step_tokens = 9});
  ASSERT_TRUE(s.scheduler.Step().ok());
  ASSERT_TRUE(s.scheduler.Step().ok());
  const std::vector<Call> appends = s.CallsOf(Operation::kAppend);
  // In the first step there are 9 tokens for two requests, then the third waits for its turn.
  EXPECT_EQ(appends[0].rows, (Rows{0, 1, 2}));
  EXPECT_EQ(appends[0].tokens, (Rows{2, 6, 1}));
  EXPECT_EQ(appends[1].rows, (Rows{0, 1, 2}));
  EXPECT_EQ(appends[1].tokens, (Rows{1, 6, 2}));
  ASSERT_TRUE(s.Run().ok());
  for (const Call& call : s.CallsOf(Operation::kAppend)) {
    EXPECT_LE(std::accumulate(call.tokens.begin(), call.tokens.end(), 0), 9);
  }
}

TEST(SchedulerTest, ServesMoreDecodesThanAStepHasTokens) {
  Serving s({MakeRequest(1, 5), MakeRequest(1, 5), MakeRequest(1, 5)}, kRoomy,
            {.chunk_tokens = 1, .step_tokens = 2});
  ASSERT_TRUE(s.Run().ok());
  EXPECT_EQ(s.scheduler.counts().served, 3u);
}

TEST(SchedulerTest, ClosesThoseThatEndTogetherInOneBatch) {
  Serving s({MakeRequest(3, 2), MakeRequest(5, 2), MakeRequest(5, 4)}, kRoomy, {});
  ASSERT_TRUE(s.Run().ok());
  const std::vector<Call> closes = s.CallsOf(Operation::kClose);
  ASSERT_EQ(closes.size(), 2u);
  EXPECT_EQ(closes[0].rows, (Rows{0, 1}));
  EXPECT_EQ(closes[1].rows, (Rows{2}));
}

TEST(SchedulerTest, AdmitsInOrderEvenIfALaterOneWouldFit) {
  // The first leaves 2 blocks; the second wants 3, the third 1.
  Serving s({MakeRequest(5, 1), MakeRequest(3, 1), MakeRequest(1, 1)}, kSeven, {});
  ASSERT_TRUE(s.Run().ok());
  const std::vector<Call> reserves = s.CallsOf(Operation::kReserve);
  ASSERT_EQ(reserves.size(), 2u);
  EXPECT_EQ(reserves[0].tokens, (Rows{5, 3}));
  EXPECT_EQ(reserves[0].statuses, (std::vector{OpStatus::kOk, OpStatus::kFull}));
  EXPECT_EQ(reserves[1].tokens, (Rows{3, 1}));
  EXPECT_EQ(s.scheduler.counts().served, 3u);
}

TEST(SchedulerTest, AdmitsByTheFirstChunkIfAskedTo) {
  Serving s({MakeRequest(5, 1), MakeRequest(3, 1)}, kSeven,
            {.chunk_tokens = 2, .admission = Admission::kChunk});
  ASSERT_TRUE(s.Run().ok());
  EXPECT_EQ(s.CallsOf(Operation::kReserve)[0].tokens, (Rows{2, 2}));
  EXPECT_EQ(s.scheduler.counts().served, 2u);
}

TEST(SchedulerTest, PreemptsTheYoungestAndComputesItAgain) {
  // Both are admitted with 3 + 3 blocks of 7. The third step wants two more blocks than there are.
  Serving s({MakeRequest(3, 4), MakeRequest(3, 4)}, kSeven, {});
  ASSERT_TRUE(s.scheduler.Step().ok());
  ASSERT_TRUE(s.scheduler.Step().ok());
  EXPECT_EQ(s.scheduler.counts().preemptions, 1u);
  EXPECT_EQ(s.scheduler.counts().recomputed_tokens, 3u);
  EXPECT_EQ(s.scheduler.num_running(), 1u);
  EXPECT_EQ(s.CallsOf(Operation::kClose)[0].rows, (Rows{1}));
  ASSERT_TRUE(s.Run().ok());
  // Its prompt and the token that it had generated.
  EXPECT_EQ(s.CallsOf(Operation::kReserve).back().tokens, (Rows{4}));
  EXPECT_EQ(s.scheduler.counts().served, 2u);
  EXPECT_EQ(s.scheduler.counts().generated_tokens, 8u);
}

TEST(SchedulerTest, TwoThatHoldWhatTheOtherNeedsDoNotDeadlock) {
  // Seven blocks: one needs 4 and later 1 more, the other 3 and later 1 more.
  Serving s({MakeRequest(4, 2), MakeRequest(3, 2)}, kSeven, {});
  ASSERT_TRUE(s.Run().ok());
  EXPECT_EQ(s.scheduler.counts().served, 2u);
  EXPECT_EQ(s.scheduler.counts().preemptions, 1u);
}

TEST(SchedulerTest, TheLastOneThatFillsThePoolIsServed) {
  Serving s({MakeRequest(4, 4)}, kSeven, {});  // 4 + 4 - 1
  ASSERT_TRUE(s.Run().ok());
  EXPECT_EQ(s.scheduler.counts().served, 1u);
  EXPECT_EQ(s.scheduler.usage().peak_blocks(), 7u);
}

TEST(SchedulerTest, RejectsWhatCanNeverFitWithTheReasonOfTheCache) {
  constexpr KvCacheOptions kNarrow = {
      .num_blocks = 7, .block_tokens = 4, .max_sequences = 2, .max_blocks_per_sequence = 5};
  Serving narrow({MakeRequest(20, 2), MakeRequest(20, 1), MakeRequest(1, 21)}, kNarrow, {});
  ASSERT_TRUE(narrow.Run().ok());
  EXPECT_EQ(narrow.scheduler.counts().table_full, 2u);
  EXPECT_EQ(narrow.scheduler.counts().served, 1u);

  Serving seven({MakeRequest(8, 1), MakeRequest(7, 1), MakeRequest(1, 8), MakeRequest(1, 7)},
                kSeven, {});
  ASSERT_TRUE(seven.Run().ok());
  EXPECT_EQ(seven.scheduler.counts().never_fits, 2u);
  EXPECT_EQ(seven.scheduler.counts().served, 2u);
}

TEST(SchedulerTest, RejectsTheLongestRequestThereIs) {
  Serving s({MakeRequest(replay::kMaxRequestTokens, replay::kMaxRequestTokens)}, kSeven, {});
  ASSERT_TRUE(s.Run().ok());
  EXPECT_EQ(s.scheduler.counts().table_full, 1u);
}

TEST(SchedulerTest, RunsNoMoreRequestsThanThereAreRows) {
  Serving s(std::vector<replay::Request>(10, MakeRequest(2, 3)), kSeven, {.step_tokens = 100});
  while (!s.scheduler.done()) {
    ASSERT_TRUE(s.scheduler.Step().ok());
    EXPECT_LE(s.scheduler.num_running(), kSeven.max_sequences);
  }
  EXPECT_EQ(s.scheduler.counts().served, 10u);
}

// Any requests, any pool: all are served or rejected, nothing is lost or counted twice, and the
// cache holds what the server believes to hold after each step.
TEST(SchedulerTest, ServesAnythingInAnyPool) {
  for (uint32_t i = 0; i < ScaledCount(200); ++i) {
    const uint64_t seed = BaseSeed() * 1000 + i;
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    const uint32_t speculate = random.Percent(50) ? random.Between(1, 6) : 0;
    const KvCacheOptions cache = {.num_blocks = random.Between(1, 120),
                                  .block_tokens = random.Between(1, 20),
                                  .max_sequences = random.Between(1, 12),
                                  .max_blocks_per_sequence = random.Between(1, 60),
                                  .max_draft_tokens = speculate == 0 ? 0 : speculate + 1};
    const ServingOptions options = {
        .chunk_tokens = random.Between(1, 40),
        .step_tokens = random.Between(1, 100),
        .admission = random.Percent(50) ? Admission::kPrompt : Admission::kChunk,
        .speculate = speculate,
        .accept = 0.1 * random.Below(11),
        .seed = seed};
    std::vector<replay::Request> requests(random.Between(1, 40));
    uint64_t can_fit = 0;
    for (replay::Request& request : requests) {
      request = MakeRequest(random.Between(1, 150), random.Below(60));
      const uint64_t blocks = CeilDiv(request.final_tokens(), cache.block_tokens);
      can_fit += blocks <= cache.max_blocks_per_sequence && blocks <= cache.num_blocks ? 1 : 0;
    }
    Serving s(requests, cache, options);
    while (!s.scheduler.done()) {
      const absl::Status status = s.scheduler.Step();
      ASSERT_TRUE(status.ok()) << status.message();
      if (s.scheduler.counts().steps % 16 != 0 && !s.scheduler.done()) continue;
      const auto audit = s.cache->AuditNow(StreamRef::Default());
      ASSERT_TRUE(audit.ok());
      ASSERT_EQ(replay::AuditProblem(*audit, s.scheduler.usage().blocks_held(),
                                     s.scheduler.num_running()),
                "");
    }
    EXPECT_EQ(s.scheduler.counts().served, can_fit);
    EXPECT_EQ(s.scheduler.counts().rejected(), requests.size() - can_fit);
    EXPECT_EQ(s.scheduler.usage().blocks_held(), 0u);
  }
}

}  // namespace
}  // namespace kvpage::test
