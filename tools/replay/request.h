// SPDX-License-Identifier: Apache-2.0
//
// tools/replay/request.h
//
// What is replayed: requests in the order in which they are admitted.

#ifndef KVPAGE_TOOLS_REPLAY_REQUEST_H_
#define KVPAGE_TOOLS_REPLAY_REQUEST_H_

#include <cstdint>
#include <string>
#include <vector>

namespace kvpage::replay {

// Lengths beyond this are taken for an error of the trace.
inline constexpr uint32_t kMaxRequestTokens = 1u << 30;

struct Request {
  int64_t arrival_us = 0;      // only orders the requests: nobody waits for a clock
  uint32_t prompt_tokens = 0;  // 1 .. kMaxRequestTokens
  uint32_t output_tokens = 0;  // 0 .. kMaxRequestTokens
  // Equal ids name equal pieces of a prompt, first piece first. Kept for a prefix cache: nothing is
  // shared yet.
  std::vector<uint64_t> prefix_ids;

  // How many tokens have a slot in the cache when the request is done. The last token that is
  // generated never gets one: nobody reads it.
  uint32_t final_tokens() const {
    return prompt_tokens + (output_tokens > 0 ? output_tokens - 1 : 0);
  }
};

struct Workload {
  std::string name;  // for the report
  std::vector<Request> requests;
  uint64_t skipped_lines = 0;  // lines of the trace that could not be read
};

}  // namespace kvpage::replay

#endif  // KVPAGE_TOOLS_REPLAY_REQUEST_H_
