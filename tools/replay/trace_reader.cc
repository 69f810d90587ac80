// SPDX-License-Identifier: Apache-2.0
//
// Goes over the lines of a trace; the parsers know the formats.

#include "tools/replay/trace_reader.h"

#include <algorithm>
#include <fstream>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/status/status.h"

#include "tools/replay/azure_parser.h"
#include "tools/replay/mooncake_parser.h"

namespace kvpage::replay {
namespace {

TraceFormat DetectFormat(std::string_view name, std::string_view first_line) {
  if (name.ends_with(".jsonl") || name.ends_with(".json")) return TraceFormat::kMooncake;
  if (name.ends_with(".csv")) return TraceFormat::kAzure;
  return first_line.starts_with('{') ? TraceFormat::kMooncake : TraceFormat::kAzure;
}

std::unique_ptr<TraceLineParser> MakeParser(const TraceOptions& options, std::string_view line) {
  const TraceFormat format =
      options.format == TraceFormat::kAuto ? DetectFormat(options.name, line) : options.format;
  if (format == TraceFormat::kMooncake) return std::make_unique<MooncakeParser>();
  return std::make_unique<AzureParser>();
}

}  // namespace

absl::StatusOr<Workload> ReadTrace(std::istream& input, const TraceOptions& options,
                                   std::ostream& diagnostics) {
  Workload workload;
  workload.name = options.name;
  std::unique_ptr<TraceLineParser> parser;
  std::string line;
  for (uint64_t number = 1; std::getline(input, line); ++number) {
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty()) continue;
    if (parser == nullptr) parser = MakeParser(options, line);
    absl::StatusOr<std::optional<Request>> request = parser->Parse(line);
    if (!request.ok()) {
      const std::string message = options.name + ":" + std::to_string(number) + ": " +
                                  std::string(request.status().message());
      if (options.strict) return absl::InvalidArgumentError(message);
      diagnostics << message << "; skipped\n";
      ++workload.skipped_lines;
      continue;
    }
    if (!request->has_value()) continue;
    workload.requests.push_back(*std::move(*request));
    if (workload.requests.size() == options.limit) break;
  }
  if (input.bad()) return absl::InvalidArgumentError(options.name + ": cannot be read");
  if (workload.requests.empty()) {
    return absl::InvalidArgumentError(options.name + ": there is no request in it");
  }
  std::stable_sort(workload.requests.begin(), workload.requests.end(),
                   [](const Request& a, const Request& b) { return a.arrival_us < b.arrival_us; });
  return workload;
}

absl::StatusOr<Workload> ReadTraceFile(const TraceOptions& options, std::ostream& diagnostics) {
  std::ifstream file(options.name, std::ios::binary);
  if (!file) return absl::NotFoundError(options.name + ": cannot be opened");
  return ReadTrace(file, options, diagnostics);
}

}  // namespace kvpage::replay
