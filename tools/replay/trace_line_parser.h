// SPDX-License-Identifier: Apache-2.0
//
// tools/replay/trace_line_parser.h
//
// Turns one line of a trace into a request. One class for each format.

#ifndef KVPAGE_TOOLS_REPLAY_TRACE_LINE_PARSER_H_
#define KVPAGE_TOOLS_REPLAY_TRACE_LINE_PARSER_H_

#include <optional>
#include <string_view>

#include "absl/status/statusor.h"

#include "tools/replay/request.h"

namespace kvpage::replay {

class TraceLineParser {
 public:
  virtual ~TraceLineParser() = default;

  // Nothing for a line that is no request, such as the header of a table; InvalidArgument for one
  // that makes no sense. The line is not empty and has no line end.
  virtual absl::StatusOr<std::optional<Request>> Parse(std::string_view line) = 0;
};

}  // namespace kvpage::replay

#endif  // KVPAGE_TOOLS_REPLAY_TRACE_LINE_PARSER_H_
