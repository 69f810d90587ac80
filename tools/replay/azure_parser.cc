// SPDX-License-Identifier: Apache-2.0
//
// Reads one line of an Azure LLM trace.

#include "tools/replay/azure_parser.h"

#include <array>
#include <charconv>
#include <chrono>
#include <string>

#include "absl/status/status.h"

namespace kvpage::replay {
namespace {

constexpr std::string_view kHeader = "TIMESTAMP,ContextTokens,GeneratedTokens";

// The whole of `text` as a number.
template <class T>
std::optional<T> Number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// The number of exactly `digits` digits at `at`, or -1.
int Digits(std::string_view text, size_t at, size_t digits) {
  int value = 0;
  for (size_t i = at; i < at + digits; ++i) {
    if (i >= text.size() || text[i] < '0' || text[i] > '9') return -1;
    value = value * 10 + (text[i] - '0');
  }
  return value;
}

absl::Status NotALength(const char* column, uint32_t at_least, std::string_view text) {
  return absl::InvalidArgumentError(
      std::string(column) + " must be a number from " + std::to_string(at_least) + " to " +
      std::to_string(kMaxRequestTokens) + ", not '" + std::string(text) + "'");
}

}  // namespace

std::optional<int64_t> AzureParser::ParseTimestamp(std::string_view text) {
  constexpr std::string_view kPattern = "0000-00-00 00:00:00";
  if (text.size() < kPattern.size()) return std::nullopt;
  for (size_t i = 0; i < kPattern.size(); ++i) {
    if (kPattern[i] != '0' && text[i] != kPattern[i]) return std::nullopt;
  }
  const std::array<int, 6> fields = {Digits(text, 0, 4),  Digits(text, 5, 2),  Digits(text, 8, 2),
                                     Digits(text, 11, 2), Digits(text, 14, 2), Digits(text, 17, 2)};
  for (int field : fields) {
    if (field < 0) return std::nullopt;
  }
  const std::chrono::year_month_day date{std::chrono::year(fields[0]),
                                         std::chrono::month(static_cast<unsigned>(fields[1])),
                                         std::chrono::day(static_cast<unsigned>(fields[2]))};
  if (!date.ok() || fields[3] > 23 || fields[4] > 59 || fields[5] > 60) return std::nullopt;
  const int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  int64_t microseconds =
      (((days * 24 + fields[3]) * 60 + fields[4]) * 60 + fields[5]) * int64_t{1000000};
  if (text.size() > kPattern.size() && text[kPattern.size()] == '.') {
    int64_t unit = 100000;
    for (size_t i = kPattern.size() + 1; Digits(text, i, 1) >= 0; ++i, unit /= 10) {
      microseconds += Digits(text, i, 1) * unit;
    }
  }
  return microseconds;
}

absl::StatusOr<std::optional<Request>> AzureParser::Parse(std::string_view line) {
  if (line == kHeader) return std::nullopt;
  const size_t first = line.find(',');
  const size_t second = first == line.npos ? line.npos : line.find(',', first + 1);
  if (second == line.npos || line.find(',', second + 1) != line.npos) {
    return absl::InvalidArgumentError("not three columns: " + std::string(kHeader));
  }
  const std::optional<int64_t> arrival = ParseTimestamp(line.substr(0, first));
  if (!arrival) {
    return absl::InvalidArgumentError("TIMESTAMP must be like 2023-11-16 18:15:46.68, not '" +
                                      std::string(line.substr(0, first)) + "'");
  }
  const std::string_view prompt_text = line.substr(first + 1, second - first - 1);
  const std::optional<uint32_t> prompt = Number<uint32_t>(prompt_text);
  if (!prompt || *prompt < 1 || *prompt > kMaxRequestTokens) {
    return NotALength("ContextTokens", 1, prompt_text);
  }
  const std::string_view output_text = line.substr(second + 1);
  const std::optional<uint32_t> output = Number<uint32_t>(output_text);
  if (!output || *output > kMaxRequestTokens) {
    return NotALength("GeneratedTokens", 0, output_text);
  }
  return Request{
      .arrival_us = *arrival, .prompt_tokens = *prompt, .output_tokens = *output, .prefix_ids = {}};
}

}  // namespace kvpage::replay
