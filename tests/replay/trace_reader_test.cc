// SPDX-License-Identifier: Apache-2.0
//
// Whole traces: lines, formats, order, and what happens to bad ones.

#include "tools/replay/trace_reader.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

namespace kvpage::replay {
namespace {

const char* const kAzure =
    "TIMESTAMP,ContextTokens,GeneratedTokens\n"
    "2023-11-16 18:00:01.0,11,1\n"
    "2023-11-16 18:00:02.0,12,2\n";

struct Reading {
  std::vector<uint32_t> prompts;
  std::string error;
  std::string diagnostics;
  uint64_t skipped_lines = 0;
};

Reading Read(const std::string& text, const TraceOptions& options) {
  std::istringstream input(text);
  std::ostringstream diagnostics;
  const auto workload = ReadTrace(input, options, diagnostics);
  Reading reading;
  reading.diagnostics = diagnostics.str();
  if (!workload.ok()) {
    reading.error = std::string(workload.status().message());
    return reading;
  }
  for (const Request& request : workload->requests) {
    reading.prompts.push_back(request.prompt_tokens);
  }
  reading.skipped_lines = workload->skipped_lines;
  return reading;
}

using Prompts = std::vector<uint32_t>;

std::string MooncakeLine(int time, int prompt) {
  return "{\"timestamp\": " + std::to_string(time) +
         ", \"input_length\": " + std::to_string(prompt) + ", \"output_length\": 1}";
}

TEST(TraceReaderTest, ReadsEveryKindOfLineEnd) {
  EXPECT_EQ(Read(kAzure, {.name = "a.csv"}).prompts, (Prompts{11, 12}));
  std::string text = kAzure;
  text.pop_back();
  EXPECT_EQ(Read(text, {.name = "a.csv"}).prompts, (Prompts{11, 12}));
  std::string crlf;
  for (char c : text) crlf += c == '\n' ? std::string("\r\n") : std::string(1, c);
  EXPECT_EQ(Read(crlf, {.name = "a.csv"}).prompts, (Prompts{11, 12}));
  EXPECT_EQ(Read(crlf + "\r\n\r\n", {.name = "a.csv"}).prompts, (Prompts{11, 12}));
}

TEST(TraceReaderTest, FindsTheFormatByNameThenByTheFirstLine) {
  const std::string mooncake = MooncakeLine(0, 5).insert(0, 1, '\n') + "\n";
  EXPECT_EQ(Read(mooncake, {.name = "t.jsonl"}).prompts, (Prompts{5}));
  EXPECT_EQ(Read(mooncake, {.name = "t"}).prompts, (Prompts{5}));
  EXPECT_EQ(Read(kAzure, {.name = "t"}).prompts, (Prompts{11, 12}));
  EXPECT_NE(Read(mooncake, {.name = "t.csv"}).error, "");
  EXPECT_NE(Read(kAzure, {.name = "t.json"}).error, "");
}

TEST(TraceReaderTest, TakesTheFormatThatItIsTold) {
  const std::string mooncake = MooncakeLine(0, 5);
  EXPECT_EQ(Read(mooncake, {.name = "t.csv", .format = TraceFormat::kMooncake}).prompts,
            (Prompts{5}));
  EXPECT_NE(Read(mooncake, {.name = "t.jsonl", .format = TraceFormat::kAzure}).error, "");
}

TEST(TraceReaderTest, OrdersByArrivalAndThenByLine) {
  const std::string text = MooncakeLine(7, 1) + "\n" + MooncakeLine(3, 2) + "\n" +
                           MooncakeLine(7, 3) + "\n" + MooncakeLine(3, 4) + "\n";
  EXPECT_EQ(Read(text, {.name = "t"}).prompts, (Prompts{2, 4, 1, 3}));
}

TEST(TraceReaderTest, ReportsAndSkipsABadLine) {
  const std::string text =
      MooncakeLine(1, 1) + "\nnonsense\n\n" + MooncakeLine(2, 0) + "\n" + MooncakeLine(3, 3);
  const Reading reading = Read(text, {.name = "t.jsonl"});
  EXPECT_EQ(reading.prompts, (Prompts{1, 3}));
  EXPECT_EQ(reading.skipped_lines, 2u);
  EXPECT_NE(reading.diagnostics.find("t.jsonl:2: not valid JSON"), std::string::npos);
  EXPECT_NE(reading.diagnostics.find("t.jsonl:4: \"input_length\""), std::string::npos);
}

TEST(TraceReaderTest, StopsAtABadLineIfStrict) {
  const std::string text = MooncakeLine(1, 1) + "\nnonsense\n";
  const Reading reading = Read(text, {.name = "t.jsonl", .strict = true});
  EXPECT_EQ(reading.error, "t.jsonl:2: not valid JSON");
  EXPECT_EQ(reading.diagnostics, "");
}

TEST(TraceReaderTest, StopsAtTheLimitAndDoesNotReadWhatIsBehindIt) {
  const std::string text = MooncakeLine(1, 1) + "\n" + MooncakeLine(2, 2) + "\nnonsense\n";
  const Reading reading = Read(text, {.name = "t", .limit = 2, .strict = true});
  EXPECT_EQ(reading.prompts, (Prompts{1, 2}));
}

TEST(TraceReaderTest, ATraceWithNoRequestIsAnError) {
  EXPECT_EQ(Read("", {.name = "t"}).error, "t: there is no request in it");
  EXPECT_NE(Read("TIMESTAMP,ContextTokens,GeneratedTokens\n", {.name = "t.csv"}).error, "");
}

TEST(TraceReaderTest, AFileThatIsNotThereIsNotFound) {
  std::ostringstream diagnostics;
  EXPECT_TRUE(absl::IsNotFound(
      ReadTraceFile({.name = testing::TempDir() + "/no/such/trace"}, diagnostics).status()));
}

}  // namespace
}  // namespace kvpage::replay
