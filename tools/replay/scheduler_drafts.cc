// SPDX-License-Identifier: Apache-2.0
//
// The part of a step that speculates: open a draft for each request that decodes, see how much of
// it is right, commit that.

#include <algorithm>

#include "kvpage/core/bits.h"
#include "tools/replay/scheduler.h"
#include "tools/replay/status_macros.h"

namespace kvpage::replay {

// Of the next step. A draft has no more guesses than the request can use: its last token needs no
// slot, and the token before the guesses is no guess.
uint32_t Scheduler::WantedTokens(const Running& sequence) const {
  const uint32_t left = sequence.known - sequence.held;
  if (speculate_ == 0 || left != 1) return NextTokens(left);
  const uint32_t usable = sequence.last - sequence.held;
  return 1 + std::min(speculate_, usable > 2 ? usable - 2 : 0);
}

absl::Status Scheduler::DraftTokens() {
  places_.clear();
  batch_tokens_ = 0;
  for (size_t place = 0; place < running_.size() && batch_tokens_ < step_tokens_; ++place) {
    const Running& sequence = running_[place];
    if (sequence.known - sequence.held != 1) continue;
    const uint64_t budget = step_tokens_ - batch_tokens_;
    AddToBatch(place, static_cast<uint32_t>(std::min<uint64_t>(WantedTokens(sequence), budget)));
  }
  drafted_tokens_ = batch_tokens_;
  std::vector<uint32_t> open;
  if (!places_.empty()) KVPAGE_REPLAY_RETURN_IF_ERROR(OpenDrafts(open));
  return open.empty() ? absl::OkStatus() : CommitDrafts(open);
}

// Opens the drafts of the batch; `open` are the places that have one then.
absl::Status Scheduler::OpenDrafts(std::vector<uint32_t>& open) {
  for (;;) {
    KVPAGE_REPLAY_RETURN_IF_ERROR(client_.BeginDraft(places_.size(), batch_tokens_));
    std::vector<uint32_t> full;
    KVPAGE_REPLAY_RETURN_IF_ERROR(SettleDrafts(open, full));
    if (full.empty()) return absl::OkStatus();

    // Once more for those that found no room: without guesses, or with one request less.
    const bool guesses = std::any_of(full.begin(), full.end(),
                                     [&](uint32_t place) { return running_[place].planned > 1; });
    if (guesses) {
      for (const uint32_t place : full) {
        counts_.shrunk_drafts += running_[place].planned > 1 ? 1 : 0;
        running_[place].planned = 1;
      }
    } else {
      if (running_.size() == 1) {
        return Unexpected("BeginDraft", running_.front().row, OpStatus::kFull);  // it is alone
      }
      KVPAGE_REPLAY_RETURN_IF_ERROR(PreemptYoungest());
      std::erase_if(open, [&](uint32_t place) { return place >= running_.size(); });
    }
    places_.clear();
    batch_tokens_ = 0;
    for (const uint32_t place : full) {
      if (place < running_.size()) AddToBatch(place, running_[place].planned);
    }
    if (places_.empty()) return absl::OkStatus();
  }
}

absl::Status Scheduler::SettleDrafts(std::vector<uint32_t>& open, std::vector<uint32_t>& full) {
  for (size_t i = 0; i < places_.size(); ++i) {
    Running& sequence = running_[places_[i]];
    const OpStatus status = buffers_.statuses()[i];
    if (status == OpStatus::kOk) {
      const uint64_t covered = RoundUp(sequence.held + sequence.planned, block_tokens_);
      sequence.draft_blocks =
          covered > sequence.capacity ? (covered - sequence.capacity) / block_tokens_ : 0;
      usage_.Allocate(sequence.draft_blocks);
      open.push_back(places_[i]);
    } else if (status == OpStatus::kFull) {
      full.push_back(places_[i]);
    } else {
      return Unexpected("BeginDraft", sequence.row, status);
    }
  }
  return absl::OkStatus();
}

absl::Status Scheduler::CommitDrafts(const std::vector<uint32_t>& open) {
  for (size_t i = 0; i < open.size(); ++i) {
    buffers_.rows()[i] = running_[open[i]].row;
    buffers_.tokens()[i] = static_cast<int32_t>(1 + AcceptedOf(running_[open[i]]));
  }
  KVPAGE_REPLAY_RETURN_IF_ERROR(client_.CommitDraft(open.size()));
  for (size_t i = 0; i < open.size(); ++i) {
    Running& sequence = running_[open[i]];
    const OpStatus status = buffers_.statuses()[i];
    if (status != OpStatus::kOk) return Unexpected("CommitDraft", sequence.row, status);
    const auto tokens = static_cast<uint32_t>(buffers_.tokens()[i]);
    ++counts_.drafts;
    counts_.drafted_tokens += sequence.planned - 1;
    counts_.accepted_tokens += tokens - 1;
    sequence.held += tokens;
    sequence.known = sequence.held;
    usage_.AddTokens(tokens);
    // The blocks of its draft are the row's now, or free.
    const uint64_t covered = std::max(RoundUp(sequence.held, block_tokens_), sequence.capacity);
    usage_.Free(sequence.draft_blocks - (covered - sequence.capacity) / block_tokens_);
    sequence.capacity = covered;
    sequence.draft_blocks = 0;
  }
  return absl::OkStatus();
}

// The dice know the request and the position, so that it does not matter to them when, or beside
// whom, a request runs.
uint32_t Scheduler::AcceptedOf(const Running& sequence) const {
  const auto request = static_cast<uint64_t>(sequence.request - first_request_);
  uint32_t accepted = 0;
  for (; accepted + 1 < sequence.planned; ++accepted) {
    const uint64_t position = sequence.held + 1 + accepted;
    const uint64_t dice = MixBits(MixBits(seed_ ^ (request << 32)) + position);
    if (static_cast<double>(dice >> 11) * 0x1p-53 >= accept_) break;
  }
  return accepted;
}

}  // namespace kvpage::replay
