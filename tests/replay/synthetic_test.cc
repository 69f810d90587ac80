// SPDX-License-Identifier: Apache-2.0

#include "tools/replay/synthetic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "kvpage/core/bits.h"

namespace kvpage::replay {
namespace {

uint64_t Digest(const Workload& workload) {
  uint64_t digest = 0;
  for (const Request& request : workload.requests) {
    digest = MixBits(digest ^ request.prompt_tokens);
    digest = MixBits(digest ^ request.output_tokens);
  }
  return digest;
}

TEST(SyntheticTest, IsTheSameOnEveryMachine) {
  const Workload workload = MakeSyntheticWorkload(1000, 1);
  ASSERT_EQ(workload.requests.size(), 1000u);
  EXPECT_EQ(Digest(workload), 2676078854771858562u);
}

TEST(SyntheticTest, BeginsTheSameWithMoreRequests) {
  Workload longer = MakeSyntheticWorkload(1000, 7);
  longer.requests.resize(10);
  EXPECT_EQ(Digest(longer), Digest(MakeSyntheticWorkload(10, 7)));
}

TEST(SyntheticTest, DependsOnTheSeed) {
  EXPECT_NE(Digest(MakeSyntheticWorkload(10, 1)), Digest(MakeSyntheticWorkload(10, 2)));
}

TEST(SyntheticTest, HasManyShortAndFewLongRequests) {
  std::vector<uint32_t> prompts, outputs;
  for (const Request& request : MakeSyntheticWorkload(20001, 3).requests) {
    prompts.push_back(request.prompt_tokens);
    outputs.push_back(request.output_tokens);
  }
  std::sort(prompts.begin(), prompts.end());
  std::sort(outputs.begin(), outputs.end());
  EXPECT_NEAR(prompts[10000], 600, 30);
  EXPECT_NEAR(outputs[10000], 160, 8);
  // One standard deviation up doubles an output and multiplies a prompt by 2^1.25.
  EXPECT_NEAR(prompts[16827], 600 * 2.378, 60);
  EXPECT_NEAR(outputs[16827], 160 * 2.0, 16);
  EXPECT_GE(prompts.front(), 1u);
  EXPECT_LE(prompts.back(), 16384u);
  EXPECT_GE(outputs.front(), 1u);
  EXPECT_LE(outputs.back(), 2048u);
}

}  // namespace
}  // namespace kvpage::replay
