// SPDX-License-Identifier: Apache-2.0
//
// tools/replay/scheduler.h
//
// The serving loop: first come, first served, with chunked prefill and preemption, as inference
// servers do it.
//
// A step admits waiting requests, appends tokens to the running ones (one for each that decodes,
// first; then chunks of prompts, oldest request first), and closes those that are done. When the
// pool is full, the youngest running request is preempted: its row is closed, it goes back to the
// front of the queue, and its prompt and what it had generated are computed again later. Nobody is
// admitted after a refusal or a preemption until a request has finished: until then there is no
// more room than before.
//
// With speculation, a request that decodes does not append its one token but opens a draft of it
// and of as many guesses as are asked for, or as it may still generate; a seeded dice says how many
// guesses are right, up to the first that is not, and so many are committed with the token before
// them. Where the pool has no room for a draft, the request guesses nothing in this step; where
// there is no room for that either, the youngest is preempted as above.
//
// There is no deadlock: the oldest running request is preempted by nobody, and if it is alone it
// fits, since a request that cannot fit even alone is rejected at admission.
//
// Decisions follow from the requests, the options and the statuses, never from time or block ids:
// equal requests and options give equal counts on every backend. The server also counts blocks
// itself, and takes it for an error of the cache if that refuses what must fit, or grants what
// cannot.

#ifndef KVPAGE_TOOLS_REPLAY_SCHEDULER_H_
#define KVPAGE_TOOLS_REPLAY_SCHEDULER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "absl/status/status.h"

#include "tools/replay/cache_client.h"
#include "tools/replay/request.h"
#include "tools/replay/usage.h"

namespace kvpage::replay {

enum class Admission {
  kPrompt,  // once there are blocks for the whole prompt: they are reserved
  kChunk,   // once there are blocks for the first chunk
};

struct ServingOptions {
  uint32_t chunk_tokens = 512;  // of one prompt, in one step
  uint32_t step_tokens = 2048;  // of all requests, in one step
  Admission admission = Admission::kPrompt;

  uint32_t speculate = 0;  // tokens that are guessed for a request in one step; 0: no drafts
  double accept = 0.7;     // how likely a guess is right if those before it are
  uint64_t seed = 1;       // of the dice
};

struct ServingCounts {
  uint64_t steps = 0;
  uint64_t served = 0;
  uint64_t never_fits = 0;  // rejected: longer than the pool
  uint64_t table_full = 0;  // rejected: longer than a row
  uint64_t preemptions = 0;
  uint64_t prompt_tokens = 0;      // of the requests served
  uint64_t generated_tokens = 0;   // of the requests served
  uint64_t recomputed_tokens = 0;  // computed, and lost by a preemption
  uint64_t drafts = 0;             // committed
  uint64_t drafted_tokens = 0;     // guessed
  uint64_t accepted_tokens = 0;    // guessed right
  uint64_t shrunk_drafts = 0;      // asked for again without guesses, as the pool was full

  uint64_t rejected() const { return never_fits + table_full; }
};

class Scheduler {
 public:
  // All arguments must outlive the scheduler. The cache must be empty, with buffers for
  // max_sequences rows and step_tokens slots, and must allow drafts of speculate + 1 tokens.
  Scheduler(std::span<const Request> requests, const ServingOptions& options, CacheClient& client);

  bool done() const { return waiting_.empty() && running_.empty(); }

  // REQUIRES: !done(). An error means that the cache failed, or gave an answer that cannot be.
  absl::Status Step();

  const ServingCounts& counts() const { return counts_; }
  const Usage& usage() const { return usage_; }
  uint64_t num_running() const { return running_.size(); }

 private:
  struct Waiting {
    const Request* request;
    uint32_t known;  // prompt tokens, and those that it had generated before it was preempted
  };
  struct Running {
    const Request* request;
    int32_t row;
    uint32_t known;             // tokens of the prompt, and generated so far
    uint32_t last;              // how many will be known when it is done
    uint32_t held;              // tokens in the cache
    uint32_t computed;          // of these, from earlier steps
    uint32_t planned;           // tokens to append in this step, or to draft
    uint64_t capacity;          // tokens that fit in its blocks
    uint64_t draft_blocks = 0;  // that its open draft has beyond them
  };

  static absl::Status Unexpected(const char* operation, int32_t row, OpStatus status);

  absl::Status Admit();
  absl::Status SettleAdmissions(size_t count, bool last_has_room);
  void AdmitFront(int32_t row, uint32_t reserved);
  // scheduler_drafts.cc
  absl::Status DraftTokens();
  absl::Status OpenDrafts(std::vector<uint32_t>& open);
  absl::Status SettleDrafts(std::vector<uint32_t>& open, std::vector<uint32_t>& full);
  absl::Status CommitDrafts(const std::vector<uint32_t>& open);
  uint32_t AcceptedOf(const Running& sequence) const;
  uint32_t WantedTokens(const Running& sequence) const;

  size_t PlanAppends();
  void AddToBatch(size_t place, uint32_t tokens);
  absl::Status AppendTokens();
  absl::Status SettleAppends(size_t& num_full);
  void Grow(Running& sequence);
  absl::Status PreemptYoungest();
  absl::Status CloseFinished();
  absl::Status CloseRows(size_t count);

  bool CanEverFit(const Request& request) const;
  uint32_t NextTokens(uint32_t left) const { return left < chunk_ ? left : chunk_; }

  const uint32_t chunk_;
  const uint32_t step_tokens_;
  const Admission admission_;
  const uint32_t speculate_;
  const double accept_;
  const uint64_t seed_;
  const Request* const first_request_;
  const uint32_t block_tokens_;
  const uint64_t most_tokens_;  // that a row, and the pool, can hold

  CacheClient& client_;
  BatchBuffers& buffers_;

  // Both in order of arrival, and every running request before every waiting one.
  std::deque<Waiting> waiting_;
  std::vector<Running> running_;
  std::vector<int32_t> free_rows_;  // the back is taken first
  bool no_room_ = false;            // since a refusal or a preemption nobody has finished
  uint64_t wanted_ = 0;             // tokens that the running requests want in the next step

  // The batch of the step: which of running_ each place is.
  std::vector<uint32_t> places_;
  std::vector<uint32_t> prefills_;
  uint64_t batch_tokens_ = 0;
  uint64_t drafted_tokens_ = 0;  // of the step's tokens, those in drafts

  ServingCounts counts_;
  Usage usage_;
};

}  // namespace kvpage::replay

#endif  // KVPAGE_TOOLS_REPLAY_SCHEDULER_H_
