// SPDX-License-Identifier: Apache-2.0
//
// tools/replay/mooncake_parser.h
//
// The traces of Mooncake (FAST'25): one JSON object a line,
//   {"timestamp": 500, "input_length": 1100, "output_length": 50, "hash_ids": [0, 7, 8]}
// with the time in milliseconds and one hash id for each 512 tokens of the prompt. "timestamp" and
// "hash_ids" may be missing.

#ifndef KVPAGE_TOOLS_REPLAY_MOONCAKE_PARSER_H_
#define KVPAGE_TOOLS_REPLAY_MOONCAKE_PARSER_H_

#include <optional>
#include <string_view>

#include "absl/status/statusor.h"

#include "tools/replay/trace_line_parser.h"

namespace kvpage::replay {

class MooncakeParser : public TraceLineParser {
 public:
  absl::StatusOr<std::optional<Request>> Parse(std::string_view line) override;
};

}  // namespace kvpage::replay

#endif  // KVPAGE_TOOLS_REPLAY_MOONCAKE_PARSER_H_
