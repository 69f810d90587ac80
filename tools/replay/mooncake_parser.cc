// SPDX-License-Identifier: Apache-2.0
//
// Reads one line of a Mooncake trace.

#include "tools/replay/mooncake_parser.h"

#include <string>

#include <nlohmann/json.hpp>

#include "absl/status/status.h"

namespace kvpage::replay {
namespace {

using nlohmann::json;

absl::StatusOr<uint32_t> Length(const json& object, const char* key, int64_t at_least) {
  const auto found = object.find(key);
  if (found == object.end()) {
    return absl::InvalidArgumentError(std::string("no \"") + key + "\"");
  }
  // A number beyond int64 is unsigned for the parser, and wraps to a negative one here.
  const int64_t value = found->is_number_integer() ? found->get<int64_t>() : -1;
  if (value < at_least || value > int64_t{kMaxRequestTokens}) {
    return absl::InvalidArgumentError(std::string("\"") + key + "\" must be a number from " +
                                      std::to_string(at_least) + " to " +
                                      std::to_string(kMaxRequestTokens) + ", not " + found->dump());
  }
  return static_cast<uint32_t>(value);
}

absl::Status ReadArrival(const json& object, Request& request) {
  const auto found = object.find("timestamp");
  if (found == object.end()) return absl::OkStatus();
  const double milliseconds = found->is_number() ? found->get<double>() : -1;
  if (!(milliseconds >= 0 && milliseconds < 1e15)) {
    return absl::InvalidArgumentError("\"timestamp\" must be a number of milliseconds");
  }
  request.arrival_us = static_cast<int64_t>(milliseconds * 1000);
  return absl::OkStatus();
}

absl::Status ReadPrefixIds(const json& object, Request& request) {
  const auto found = object.find("hash_ids");
  if (found == object.end()) return absl::OkStatus();
  const auto wrong = [] {
    return absl::InvalidArgumentError("\"hash_ids\" must be a list of numbers from 0 on");
  };
  if (!found->is_array()) return wrong();
  request.prefix_ids.reserve(found->size());
  for (const json& id : *found) {
    if (!id.is_number_unsigned()) return wrong();
    request.prefix_ids.push_back(id.get<uint64_t>());
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::optional<Request>> MooncakeParser::Parse(std::string_view line) {
  const json object = json::parse(line.begin(), line.end(), nullptr, /*allow_exceptions=*/false);
  if (object.is_discarded()) return absl::InvalidArgumentError("not valid JSON");
  if (!object.is_object()) return absl::InvalidArgumentError("not a JSON object");
  const absl::StatusOr<uint32_t> prompt = Length(object, "input_length", 1);
  if (!prompt.ok()) return prompt.status();
  const absl::StatusOr<uint32_t> output = Length(object, "output_length", 0);
  if (!output.ok()) return output.status();
  Request request;
  request.prompt_tokens = *prompt;
  request.output_tokens = *output;
  if (absl::Status status = ReadArrival(object, request); !status.ok()) return status;
  if (absl::Status status = ReadPrefixIds(object, request); !status.ok()) return status;
  return request;
}

}  // namespace kvpage::replay
