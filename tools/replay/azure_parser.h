// SPDX-License-Identifier: Apache-2.0
//
// tools/replay/azure_parser.h
//
// The LLM inference traces of the Azure Public Dataset: a comma-separated table,
//   TIMESTAMP,ContextTokens,GeneratedTokens
//   2023-11-16 10:00:00.1234560,370,40

#ifndef KVPAGE_TOOLS_REPLAY_AZURE_PARSER_H_
#define KVPAGE_TOOLS_REPLAY_AZURE_PARSER_H_

#include <optional>
#include <string_view>

#include "absl/status/statusor.h"

#include "tools/replay/trace_line_parser.h"

namespace kvpage::replay {

class AzureParser : public TraceLineParser {
 public:
  absl::StatusOr<std::optional<Request>> Parse(std::string_view line) override;

  // Microseconds since 1970 of "2023-11-16 10:00:00.1234560"; the fraction, and what follows it (a
  // time zone, always UTC in these traces), may be missing.
  static std::optional<int64_t> ParseTimestamp(std::string_view text);
};

}  // namespace kvpage::replay

#endif  // KVPAGE_TOOLS_REPLAY_AZURE_PARSER_H_
