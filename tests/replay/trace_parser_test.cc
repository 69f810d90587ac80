// SPDX-License-Identifier: Apache-2.0
//
// One line of a trace at a time.

#include <gtest/gtest.h>

#include <string>

#include "tools/replay/azure_parser.h"
#include "tools/replay/mooncake_parser.h"

namespace kvpage::replay {
namespace {

std::string ErrorOf(TraceLineParser&& parser, const std::string& line) {
  const auto request = parser.Parse(line);
  return request.ok() ? "" : std::string(request.status().message());
}

TEST(MooncakeParserTest, ReadsALine) {
  const auto request = MooncakeParser().Parse(
      R"({"timestamp": 27482, "input_length": 1025, "output_length": 52, "hash_ids": [46, 0, 9]})");
  ASSERT_TRUE(request.ok() && request->has_value());
  EXPECT_EQ((*request)->arrival_us, 27482000);
  EXPECT_EQ((*request)->prompt_tokens, 1025u);
  EXPECT_EQ((*request)->output_tokens, 52u);
  EXPECT_EQ((*request)->prefix_ids, (std::vector<uint64_t>{46, 0, 9}));
}

TEST(MooncakeParserTest, NeedsLengthsOnly) {
  const auto request = MooncakeParser().Parse(R"({"output_length":0,"input_length":1,"extra":{}})");
  ASSERT_TRUE(request.ok() && request->has_value());
  EXPECT_EQ((*request)->arrival_us, 0);
  EXPECT_EQ((*request)->prompt_tokens, 1u);
  EXPECT_TRUE((*request)->prefix_ids.empty());
}

TEST(MooncakeParserTest, RefusesWhatMakesNoSense) {
  EXPECT_EQ(ErrorOf(MooncakeParser(), R"({"input_length": 1,)"), "not valid JSON");
  EXPECT_EQ(ErrorOf(MooncakeParser(), "[1, 2]"), "not a JSON object");
  EXPECT_EQ(ErrorOf(MooncakeParser(), R"({"input_length": 1})"), "no \"output_length\"");
  for (const char* length : {"0", "-1", "1.5", "\"7\"", "1073741825", "18446744073709551615"}) {
    const std::string line =
        std::string(R"({"input_length": )") + length + R"(, "output_length": 1})";
    EXPECT_NE(ErrorOf(MooncakeParser(), line).find("\"input_length\" must be"), std::string::npos)
        << line;
  }
  const std::string lengths = R"("input_length": 1, "output_length": 1, )";
  EXPECT_NE(ErrorOf(MooncakeParser(), "{" + lengths + R"("timestamp": "noon"})"), "");
  EXPECT_NE(ErrorOf(MooncakeParser(), "{" + lengths + R"("timestamp": -5})"), "");
  EXPECT_NE(ErrorOf(MooncakeParser(), "{" + lengths + R"("hash_ids": 5})"), "");
  EXPECT_NE(ErrorOf(MooncakeParser(), "{" + lengths + R"("hash_ids": [5, -1]})"), "");
}

TEST(AzureParserTest, ReadsALine) {
  const auto request = AzureParser().Parse("2023-11-16 10:00:00.1234567,370,40");
  ASSERT_TRUE(request.ok() && request->has_value());
  EXPECT_EQ((*request)->arrival_us, 1700128800123456);
  EXPECT_EQ((*request)->prompt_tokens, 370u);
  EXPECT_EQ((*request)->output_tokens, 40u);
}

TEST(AzureParserTest, PassesOverTheHeader) {
  const auto header = AzureParser().Parse("TIMESTAMP,ContextTokens,GeneratedTokens");
  ASSERT_TRUE(header.ok());
  EXPECT_FALSE(header->has_value());
}

TEST(AzureParserTest, RefusesWhatMakesNoSense) {
  EXPECT_NE(ErrorOf(AzureParser(), "2023-11-16 18:15:46,1").find("three columns"),
            std::string::npos);
  EXPECT_NE(ErrorOf(AzureParser(), "2023-11-16 18:15:46,1,2,3").find("three columns"),
            std::string::npos);
  EXPECT_NE(ErrorOf(AzureParser(), "yesterday,1,2").find("TIMESTAMP"), std::string::npos);
  for (const char* prompt : {"", "0", "-1", "1.5", "x", "7 ", "1073741825", "99999999999"}) {
    const std::string line = std::string("2023-11-16 18:15:46,") + prompt + ",1";
    EXPECT_NE(ErrorOf(AzureParser(), line).find("ContextTokens must be"), std::string::npos)
        << line;
  }
  EXPECT_NE(ErrorOf(AzureParser(), "2023-11-16 18:15:46,1,-3").find("GeneratedTokens must be"),
            std::string::npos);
}

TEST(AzureParserTest, ReadsTimestamps) {
  EXPECT_EQ(AzureParser::ParseTimestamp("1970-01-01 00:00:00"), 0);
  EXPECT_EQ(AzureParser::ParseTimestamp("1970-01-01 00:00:01.5"), 1500000);
  EXPECT_EQ(AzureParser::ParseTimestamp("1970-01-02 00:00:00.0000019"), 86400000001);
  EXPECT_EQ(AzureParser::ParseTimestamp("2024-02-29 00:00:00.5+00:00"), 1709164800500000);
  for (const char* wrong :
       {"", "2023-02-29 00:00:00", "2023-13-01 00:00:00", "2023-11-16 24:00:00",
        "2023-11-16 00:60:00", "2023-11-16T00:00:00", "2023-11-16 00:00", "2o23-11-16 00:00:00"}) {
    EXPECT_FALSE(AzureParser::ParseTimestamp(wrong).has_value()) << wrong;
  }
}

}  // namespace
}  // namespace kvpage::replay
