// SPDX-License-Identifier: Apache-2.0
//
// The flags. A new one goes into kFlagGroups of command_line.cc as well, where --help finds it.

#include "tools/replay/options.h"

#include <algorithm>

#include "absl/flags/flag.h"
#include "absl/status/status.h"

#include "kvpage/core/bits.h"
#include "kvpage/core/types.h"

using namespace kvpage::replay;  // NOLINT: types of flags

ABSL_FLAG(std::string, trace, "",
          "file with the requests: a Mooncake trace (JSON lines) or an Azure LLM trace (CSV); "
          "without it a synthetic workload is served");
ABSL_FLAG(TraceFormat, format, TraceFormat::kAuto,
          "of the trace: auto|mooncake|azure; auto goes by the name, then by the first line");
ABSL_FLAG(uint64_t, limit, 0, "serve only the first so many requests of the trace; 0: all");
ABSL_FLAG(bool, strict, false, "stop at a line of the trace that cannot be read (else: skip it)");
ABSL_FLAG(uint32_t, requests, 2000, "requests of the synthetic workload");
ABSL_FLAG(uint64_t, seed, 1, "seed of the synthetic workload, and of the guesses");

ABSL_FLAG(BackendKind, backend, BackendKind::kCpu, "where the cache is kept: cpu|cuda");
ABSL_FLAG(uint32_t, blocks, 4096, "blocks in the pool");
ABSL_FLAG(uint32_t, block_tokens, 16, "tokens in a block");
ABSL_FLAG(uint32_t, max_rows, 256, "rows of the page table: requests that can run at once");
ABSL_FLAG(uint32_t, max_tokens_per_row, 131072,
          "width of a row, rounded up to blocks: a longer request is rejected");

ABSL_FLAG(uint32_t, step_tokens, 2048, "most tokens in one step, of all requests together");
ABSL_FLAG(uint32_t, chunk_tokens, 512, "most tokens of one prompt in one step");
ABSL_FLAG(Admission, admit, Admission::kPrompt,
          "prompt|chunk: a request starts once there are blocks for its whole prompt, or for the "
          "first chunk of it");
ABSL_FLAG(uint32_t, speculate, 0,
          "guess so many tokens for each running request in each step, and commit those that are "
          "right and one more; 0: none");
ABSL_FLAG(double, accept, 0.7,
          "how likely a guess is right if those before it are; --seed decides which");

ABSL_FLAG(uint64_t, audit_every, 0, "audit the cache every so many steps; 0: only at the end");
ABSL_FLAG(std::string, json, "", "write the report to this file as JSON, too");
ABSL_FLAG(ProgressMode, progress, ProgressMode::kAuto,
          "progress bar on stderr: auto|on|off; auto: if that is a terminal");

namespace kvpage::replay {
namespace {

absl::Status CheckRange(const char* flag, uint64_t value, uint64_t least, uint64_t most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(std::string(flag) + " must be from " + std::to_string(least) +
                                    " to " + std::to_string(most) + ", not " +
                                    std::to_string(value));
}

absl::Status Check(const Options& options) {
  constexpr uint32_t kMostStepTokens = 1u << 24;
  constexpr uint32_t kMostGuesses = 1000;
  constexpr uint32_t kMostRequests = 100'000'000;
  absl::Status status;
  status.Update(CheckRange("--blocks", options.blocks, 1, kMaxBlocks));
  status.Update(CheckRange("--block-tokens", options.block_tokens, 1, kMaxSequenceTokens));
  status.Update(CheckRange("--max-rows", options.max_rows, 1, 1u << 24));
  status.Update(
      CheckRange("--max-tokens-per-row", options.max_tokens_per_row, 1, kMaxSequenceTokens));
  status.Update(CheckRange("--step-tokens", options.serving.step_tokens, 1, kMostStepTokens));
  status.Update(CheckRange("--chunk-tokens", options.serving.chunk_tokens, 1, kMostStepTokens));
  status.Update(CheckRange("--speculate", options.serving.speculate, 0, kMostGuesses));
  if (!(options.serving.accept >= 0 && options.serving.accept <= 1)) {
    status.Update(absl::InvalidArgumentError("--accept must be from 0 to 1"));
  }
  status.Update(CheckRange("--requests", options.requests, 1, kMostRequests));
  return status;
}

}  // namespace

KvCacheOptions Options::cache() const {
  return {
      .num_blocks = blocks,
      .block_tokens = block_tokens,
      .max_sequences = max_rows,
      .max_blocks_per_sequence = static_cast<uint32_t>(CeilDiv(max_tokens_per_row, block_tokens)),
      .max_draft_tokens = serving.speculate == 0 ? 0 : serving.speculate + 1};
}

absl::StatusOr<Options> OptionsFromFlags() {
  Options options;
  options.backend = absl::GetFlag(FLAGS_backend);
  options.blocks = absl::GetFlag(FLAGS_blocks);
  options.block_tokens = absl::GetFlag(FLAGS_block_tokens);
  options.max_rows = absl::GetFlag(FLAGS_max_rows);
  options.max_tokens_per_row = absl::GetFlag(FLAGS_max_tokens_per_row);
  options.serving.chunk_tokens = absl::GetFlag(FLAGS_chunk_tokens);
  options.serving.step_tokens = absl::GetFlag(FLAGS_step_tokens);
  options.serving.admission = absl::GetFlag(FLAGS_admit);
  options.serving.speculate = absl::GetFlag(FLAGS_speculate);
  options.serving.accept = absl::GetFlag(FLAGS_accept);
  options.serving.seed = absl::GetFlag(FLAGS_seed);
  options.trace.name = absl::GetFlag(FLAGS_trace);
  options.trace.format = absl::GetFlag(FLAGS_format);
  options.trace.limit = absl::GetFlag(FLAGS_limit);
  options.trace.strict = absl::GetFlag(FLAGS_strict);
  options.requests = absl::GetFlag(FLAGS_requests);
  options.seed = absl::GetFlag(FLAGS_seed);
  options.audit_every = absl::GetFlag(FLAGS_audit_every);
  options.json = absl::GetFlag(FLAGS_json);
  options.progress = absl::GetFlag(FLAGS_progress);
  if (absl::Status status = Check(options); !status.ok()) return status;
  return options;
}

}  // namespace kvpage::replay
