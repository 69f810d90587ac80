// SPDX-License-Identifier: Apache-2.0
//
// tools/replay/trace_reader.h
//
// Reads a request trace from a file. Lines end in LF or CRLF, the last one in either or nothing;
// empty lines are passed over.

#ifndef KVPAGE_TOOLS_REPLAY_TRACE_READER_H_
#define KVPAGE_TOOLS_REPLAY_TRACE_READER_H_

#include <cstdint>
#include <istream>
#include <ostream>
#include <string>

#include "absl/status/statusor.h"

#include "tools/replay/request.h"

namespace kvpage::replay {

enum class TraceFormat { kAuto, kMooncake, kAzure };

struct TraceOptions {
  std::string name;  // of the file; its ending decides the format first, then the first line
  TraceFormat format = TraceFormat::kAuto;
  uint64_t limit = 0;   // read so many requests only; 0: all
  bool strict = false;  // a bad line is an error; else it is reported and skipped
};

// The requests in order of arrival, those of equal time in order of the lines. Bad lines are
// reported to `diagnostics` as NAME:LINE. InvalidArgument: a bad line, if strict, or no request.
absl::StatusOr<Workload> ReadTrace(std::istream& input, const TraceOptions& options,
                                   std::ostream& diagnostics);

// The same for the file called options.name; NotFound if it cannot be opened.
absl::StatusOr<Workload> ReadTraceFile(const TraceOptions& options, std::ostream& diagnostics);

}  // namespace kvpage::replay

#endif  // KVPAGE_TOOLS_REPLAY_TRACE_READER_H_
