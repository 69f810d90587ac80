// SPDX-License-Identifier: Apache-2.0

#include "tools/replay/report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace kvpage::replay {
namespace {

class ReportTest : public testing::Test {
 protected:
  ReportTest() {
    options_.blocks = 10;
    options_.block_tokens = 4;
    options_.max_rows = 2;
    options_.max_tokens_per_row = 9;
    options_.trace.name = "trace.csv";
    workload_.name = "trace.csv";
    workload_.requests.resize(3);
    workload_.skipped_lines = 5;
    result_.usage.Allocate(8);
    result_.usage.AddTokens(24);
    result_.usage.Sample();
    result_.usage.Free(8);
    result_.counts = {.steps = 1234567,
                      .served = 1,
                      .never_fits = 2,
                      .table_full = 3,
                      .preemptions = 4,
                      .prompt_tokens = 50,
                      .generated_tokens = 60,
                      .recomputed_tokens = 70};
    result_.reserves = {.calls = 1, .rows = 10, .seconds = 0.5};
    result_.appends = {.calls = 2, .rows = 20, .seconds = 1};
    result_.closes = {.calls = 3, .rows = 30, .seconds = 0.5};
    result_.wall_seconds = 4;
    result_.audits.count = 1;
    result_.state_hash = 0xabc;
  }

  std::string Text() const { return TextReport({options_, workload_, result_, machine_}); }
  nlohmann::json Json() const {
    return nlohmann::json::parse(JsonReport({options_, workload_, result_, machine_}));
  }

  Options options_;
  Workload workload_;
  ReplayResult result_{.counts = {},
                       .usage = Usage(10, 4),
                       .reserves = {},
                       .appends = {},
                       .closes = {},
                       .wall_seconds = 0,
                       .audits = {},
                       .state_hash = 0};
  Machine machine_{.cpu = "Some CPU", .cpus = 2};
};

// The line of the table that begins with `name`, with single spaces.
std::string LineOf(const std::string& text, const std::string& name) {
  const size_t start = text.find("\n  " + name);
  if (start == std::string::npos) return "";
  std::string line;
  for (char c : text.substr(start + 3, text.find('\n', start + 1) - start - 3)) {
    if (c != ' ' || line.empty() || line.back() != ' ') line += c;
  }
  return line;
}

TEST_F(ReportTest, TheTableHasEveryNumberWithItsUnit) {
  const std::string text = Text();
  EXPECT_EQ(text.find("kvpage-replay " + VersionText() + ", cpu backend, 2 x Some CPU\n"), 0u);
  EXPECT_EQ(LineOf(text, "workload"), "workload 3 requests, trace.csv");
  EXPECT_EQ(LineOf(text, "skipped"), "skipped 5 lines that could not be read");
  EXPECT_EQ(LineOf(text, "pool"), "pool 10 blocks of 4 tokens");
  EXPECT_EQ(LineOf(text, "page table"), "page table 2 rows of 3 blocks");
  EXPECT_EQ(LineOf(text, "rejected"), "rejected 5 requests (2 NeverFits, 3 TableFull)");
  EXPECT_EQ(LineOf(text, "steps"), "steps 1,234,567 steps");
  EXPECT_EQ(LineOf(text, "peak occupancy"), "peak occupancy 80.0 % (8 blocks)");
  EXPECT_EQ(LineOf(text, "internal fragmentation").find("internal fragmentation 25.0 %"), 0u);
  EXPECT_EQ(LineOf(text, "append"), "append 1.000 s in 2 calls for 20 rows");
  EXPECT_EQ(LineOf(text, "operations"), "operations 30.00 row operations/s of library time");
  EXPECT_EQ(LineOf(text, "audits"), "audits 1 all clean");
  EXPECT_EQ(LineOf(text, "state hash"), "state hash 0000000000000abc ");
}

TEST_F(ReportTest, TheJsonHasEveryNumber) {
  const nlohmann::json json = Json();
  EXPECT_EQ(json["kvpage_version"], VersionText());
  EXPECT_EQ(json["machine"]["cpu"], "Some CPU");
  EXPECT_EQ(json["options"]["block_tokens"], 4);
  EXPECT_EQ(json["options"]["backend"], "cpu");
  EXPECT_EQ(json["workload"]["skipped_lines"], 5);
  EXPECT_EQ(json["counts"]["served"], 1);
  EXPECT_EQ(json["counts"]["rejected"], 5);
  EXPECT_EQ(json["counts"]["recomputed_tokens"], 70);
  EXPECT_EQ(json["pool"]["blocks_allocated"], 8);
  EXPECT_EQ(json["pool"]["mean_internal_fragmentation"], 0.25);
  EXPECT_EQ(json["time"]["library_seconds"], 2.0);
  EXPECT_EQ(json["time"]["row_operations_per_library_second"], 30.0);
  EXPECT_EQ(json["time"]["blocks_per_library_second"], 8.0);
  EXPECT_EQ(json["time"]["blocks_per_wall_second"], 4.0);
  EXPECT_EQ(json["audit"]["clean"], true);
  EXPECT_EQ(json["state_hash"], "0x0000000000000abc");
}

TEST_F(ReportTest, SpeculationIsReportedIfThereIsAny) {
  EXPECT_EQ(LineOf(Text(), "drafted"), "");
  EXPECT_FALSE(Json()["counts"].contains("drafts"));
  options_.serving.speculate = 4;
  result_.counts.drafts = 5;
  result_.counts.drafted_tokens = 19;
  result_.counts.accepted_tokens = 8;
  result_.counts.shrunk_drafts = 2;
  result_.drafts = {.calls = 4, .rows = 7, .seconds = 1};
  result_.commits = {.calls = 3, .rows = 5, .seconds = 1};
  EXPECT_EQ(LineOf(Text(), "drafted"), "drafted 19 tokens guessed in 5 drafts");
  EXPECT_EQ(LineOf(Text(), "accepted"), "accepted 8 tokens guessed right");
  EXPECT_EQ(LineOf(Text(), "begin draft"), "begin draft 1.000 s in 4 calls for 7 rows");
  const nlohmann::json json = Json();
  EXPECT_EQ(json["options"]["speculate"], 4);
  EXPECT_EQ(json["counts"]["drafts"], 5);
  EXPECT_EQ(json["counts"]["drafted_tokens"], 19);
  EXPECT_EQ(json["counts"]["accepted_tokens"], 8);
  EXPECT_EQ(json["counts"]["shrunk_drafts"], 2);
  EXPECT_EQ(json["time"]["commit_draft"]["rows"], 5);
  EXPECT_EQ(json["time"]["library_seconds"], 4.0);
}

TEST_F(ReportTest, AFailedAuditStandsOut) {
  result_.audits.problem = "open_rows 1";
  EXPECT_EQ(LineOf(Text(), "audits"), "audits 1 the last FAILED: open_rows 1");
  EXPECT_EQ(Json()["audit"]["clean"], false);
  EXPECT_EQ(Json()["audit"]["problem"], "open_rows 1");
}

TEST_F(ReportTest, ANameThatIsNotUtf8DoesNotBreakTheJson) {
  workload_.name += static_cast<char>(0xff);
  EXPECT_TRUE(Json().contains("workload"));
}

TEST_F(ReportTest, NothingDoneIsNoDivisionByZero) {
  result_.reserves = result_.appends = result_.closes = {};
  result_.wall_seconds = 0;
  EXPECT_EQ(Json()["time"]["blocks_per_wall_second"], 0);
}

}  // namespace
}  // namespace kvpage::replay
