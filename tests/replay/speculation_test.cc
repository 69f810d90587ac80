// SPDX-License-Identifier: Apache-2.0
//
// What the serving loop asks of a cache if it speculates.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/replay/serving.h"
#include "tools/replay/audit_check.h"

namespace kvpage::test {
namespace {

using Rows = std::vector<int32_t>;
using replay::ServingOptions;

// `num_blocks` blocks of one token, rows of as many.
KvCacheOptions Pool(uint32_t num_blocks, uint32_t guesses) {
  return {.num_blocks = num_blocks,
          .block_tokens = 1,
          .max_sequences = 4,
          .max_blocks_per_sequence = num_blocks,
          .max_draft_tokens = guesses + 1};
}

std::vector<int32_t> FirstTokens(const std::vector<Call>& calls) {
  std::vector<int32_t> tokens;
  for (const Call& call : calls) tokens.push_back(call.tokens[0]);
  return tokens;
}

// Runs it all, with an audit after each step.
void RunAudited(Serving& s) {
  while (!s.scheduler.done()) {
    const absl::Status status = s.scheduler.Step();
    ASSERT_TRUE(status.ok()) << status.message();
    const auto audit = s.cache->AuditNow(StreamRef::Default());
    ASSERT_TRUE(audit.ok());
    ASSERT_EQ(
        replay::AuditProblem(*audit, s.scheduler.usage().blocks_held(), s.scheduler.num_running()),
        "");
  }
}

TEST(SpeculationTest, CommitsTheTokenBeforeTheGuessesAndThoseThatAreRight) {
  // The prompt gives the first of 10 tokens; the last needs no slot, so 9 are to be drafted: in a
  // row, and a pool, that have room for no more.
  Serving s({MakeRequest(4, 10)}, Pool(13, 3), {.speculate = 3, .accept = 1});
  RunAudited(s);
  EXPECT_EQ(s.CallsOf(Operation::kAppend).size(), 1u);
  EXPECT_EQ(FirstTokens(s.CallsOf(Operation::kBeginDraft)), (Rows{4, 4, 1}));
  EXPECT_EQ(FirstTokens(s.CallsOf(Operation::kCommitDraft)), (Rows{4, 4, 1}));
  EXPECT_EQ(s.scheduler.counts().served, 1u);
  EXPECT_EQ(s.scheduler.counts().steps, 4u);
  EXPECT_EQ(s.scheduler.counts().generated_tokens, 10u);
  EXPECT_EQ(s.scheduler.counts().drafts, 3u);
  EXPECT_EQ(s.scheduler.counts().drafted_tokens, 6u);
  EXPECT_EQ(s.scheduler.counts().accepted_tokens, 6u);
}

TEST(SpeculationTest, WrongGuessesTakeTheStepsOfOneTokenEach) {
  Serving s({MakeRequest(4, 5)}, Pool(20, 3), {.speculate = 3, .accept = 0});
  RunAudited(s);
  EXPECT_EQ(FirstTokens(s.CallsOf(Operation::kBeginDraft)), (Rows{4, 3, 2, 1}));
  EXPECT_EQ(FirstTokens(s.CallsOf(Operation::kCommitDraft)), (Rows{1, 1, 1, 1}));
  EXPECT_EQ(s.scheduler.counts().steps, 5u);
  EXPECT_EQ(s.scheduler.counts().accepted_tokens, 0u);
}

TEST(SpeculationTest, AboutAsManyAreRightAsWereAskedForAndTheSeedSaysWhich) {
  const std::vector<replay::Request> requests(40, MakeRequest(1, 200));
  std::vector<uint64_t> accepted;
  for (const uint64_t seed : {1u, 1u, 2u}) {
    Serving s(requests, Pool(1000, 1), {.speculate = 1, .accept = 0.6, .seed = seed});
    ASSERT_TRUE(s.Run().ok());
    const replay::ServingCounts& counts = s.scheduler.counts();
    EXPECT_NEAR(static_cast<double>(counts.accepted_tokens), 0.6 * counts.drafted_tokens,
                0.05 * counts.drafted_tokens);
    accepted.push_back(counts.accepted_tokens);
  }
  EXPECT_EQ(accepted[0], accepted[1]);
  EXPECT_NE(accepted[0], accepted[2]);
}

TEST(SpeculationTest, KeepsToTheTokensOfAStep) {
  Serving s({MakeRequest(1, 20), MakeRequest(1, 20), MakeRequest(20, 2)}, Pool(100, 3),
            {.chunk_tokens = 4, .step_tokens = 6, .speculate = 3, .accept = 1});
  ASSERT_TRUE(s.scheduler.Step().ok());  // tokens of one prompt each, as drafts, and a chunk
  const std::vector<Call> drafts = s.CallsOf(Operation::kBeginDraft);
  ASSERT_EQ(drafts.size(), 1u);
  EXPECT_EQ(drafts[0].tokens, (Rows{4, 2}));
  EXPECT_TRUE(s.CallsOf(Operation::kAppend).empty());
  RunAudited(s);
  EXPECT_EQ(s.scheduler.counts().served, 3u);
}

TEST(SpeculationTest, GuessesNothingWhereThePoolIsFullAndThenPreempts) {
  // Each is in the cache with 3 blocks of 7. The first's draft takes the last block but has no room
  // for guesses; the second finds none and is preempted.
  Serving s({MakeRequest(3, 4), MakeRequest(3, 4)}, Pool(7, 2), {.speculate = 2, .accept = 1});
  ASSERT_TRUE(s.scheduler.Step().ok());
  ASSERT_TRUE(s.scheduler.Step().ok());
  const std::vector<Call> drafts = s.CallsOf(Operation::kBeginDraft);
  ASSERT_EQ(drafts.size(), 2u);
  EXPECT_EQ(drafts[0].tokens, (Rows{3, 3}));
  EXPECT_EQ(drafts[0].statuses, (std::vector{OpStatus::kFull, OpStatus::kFull}));
  EXPECT_EQ(drafts[1].tokens, (Rows{1, 1}));
  EXPECT_EQ(drafts[1].statuses, (std::vector{OpStatus::kOk, OpStatus::kFull}));
  EXPECT_EQ(s.scheduler.counts().shrunk_drafts, 2u);
  EXPECT_EQ(s.scheduler.counts().preemptions, 1u);
  EXPECT_EQ(s.scheduler.num_running(), 1u);
  RunAudited(s);
  EXPECT_EQ(s.scheduler.counts().served, 2u);
}

TEST(SpeculationTest, ThePreemptedMayHaveAnOpenDraft) {
  // Two blocks of 4 tokens. The older one fills its block and needs the other one, in which the
  // younger drafts by then.
  KvCacheOptions options = Pool(2, 2);
  options.block_tokens = 4;
  Serving s({MakeRequest(4, 3), MakeRequest(1, 4)}, options, {.speculate = 2, .accept = 0});
  ASSERT_TRUE(s.scheduler.Step().ok());
  ASSERT_TRUE(s.scheduler.Step().ok());
  EXPECT_EQ(s.CallsOf(Operation::kBeginDraft)[1].statuses,
            (std::vector{OpStatus::kFull, OpStatus::kOk}));
  EXPECT_EQ(s.CallsOf(Operation::kClose)[0].rows, (Rows{1}));
  EXPECT_EQ(s.scheduler.counts().preemptions, 1u);
  EXPECT_EQ(s.scheduler.num_running(), 1u);
  RunAudited(s);
  EXPECT_EQ(s.scheduler.counts().served, 2u);
  EXPECT_EQ(s.scheduler.usage().blocks_held(), 0u);
}

TEST(SpeculationTest, AnAnswerThatCannotBeIsAnErrorThatNamesIt) {
  for (const Operation operation : {Operation::kBeginDraft, Operation::kCommitDraft}) {
    for (const OpStatus wrong : {OpStatus::kTableFull, OpStatus::kWrongState, OpStatus::kClosed}) {
      Serving s({MakeRequest(4, 4)}, Pool(20, 2), {.speculate = 2});
      s.cache->set_fault([&](const Call& call, OpStatus* statuses) {
        if (call.operation == operation) statuses[0] = wrong;
        return absl::OkStatus();
      });
      const absl::Status found = s.Run();
      EXPECT_TRUE(absl::IsInternal(found));
      EXPECT_NE(std::string(found.message()).find(OpStatusName(wrong)), std::string::npos);
    }
  }
}

TEST(SpeculationTest, FullForARequestThatIsAloneIsAnErrorAndNoEndlessLoop) {
  Serving s({MakeRequest(4, 4)}, Pool(20, 2), {.speculate = 2});
  s.cache->set_fault([](const Call& call, OpStatus* statuses) {
    if (call.operation == Operation::kBeginDraft) statuses[0] = OpStatus::kFull;
    return absl::OkStatus();
  });
  EXPECT_TRUE(absl::IsInternal(s.Run()));
}

TEST(SpeculationTest, ACallThatFailsIsPassedOn) {
  for (const Operation operation : {Operation::kBeginDraft, Operation::kCommitDraft}) {
    Serving s({MakeRequest(4, 4)}, Pool(20, 2), {.speculate = 2});
    s.cache->set_fault([&](const Call& call, OpStatus*) {
      return call.operation == operation ? absl::UnavailableError("gone") : absl::OkStatus();
    });
    EXPECT_TRUE(absl::IsUnavailable(s.Run()));
  }
}

}  // namespace
}  // namespace kvpage::test
