// SPDX-License-Identifier: Apache-2.0
//
// One step: admit, append (preempting while the pool is full), close what is done.

#include "tools/replay/scheduler.h"

#include <algorithm>
#include <string>

#include "kvpage/core/bits.h"
#include "tools/replay/status_macros.h"

namespace kvpage::replay {

absl::Status Scheduler::Unexpected(const char* operation, int32_t row, OpStatus status) {
  return absl::InternalError(std::string(operation) + " of row " + std::to_string(row) +
                             " answered " + OpStatusName(status) + ", which cannot be");
}

Scheduler::Scheduler(std::span<const Request> requests, const ServingOptions& options,
                     CacheClient& client)
    : chunk_(options.chunk_tokens),
      step_tokens_(options.step_tokens),
      admission_(options.admission),
      speculate_(options.speculate),
      accept_(options.accept),
      seed_(options.seed),
      first_request_(requests.data()),
      block_tokens_(client.cache().table().block_tokens),
      most_tokens_(std::min<uint64_t>(client.cache().table().max_blocks_per_sequence,
                                      client.cache().pool().num_blocks()) *
                   block_tokens_),
      client_(client),
      buffers_(client.buffers()),
      usage_(client.cache().pool().num_blocks(), block_tokens_) {
  for (const Request& request : requests) waiting_.push_back({&request, request.prompt_tokens});
  for (uint32_t row = client.cache().table().max_sequences; row > 0; --row) {
    free_rows_.push_back(static_cast<int32_t>(row - 1));
  }
}

absl::Status Scheduler::Step() {
  KVPAGE_REPLAY_RETURN_IF_ERROR(Admit());
  if (running_.empty()) return absl::OkStatus();  // all that were considered were rejected
  if (speculate_ > 0) KVPAGE_REPLAY_RETURN_IF_ERROR(DraftTokens());
  KVPAGE_REPLAY_RETURN_IF_ERROR(AppendTokens());
  ++counts_.steps;
  usage_.Sample();
  return CloseFinished();
}

bool Scheduler::CanEverFit(const Request& request) const {
  return request.final_tokens() <= most_tokens_;
}

// Asks for blocks for the next requests in the queue: as many as the step has tokens for, up to the
// first that will find no room by the server's own count. One that can never fit is asked for at
// its full length, so that the cache says why.
absl::Status Scheduler::Admit() {
  if (running_.empty()) no_room_ = false;
  if (no_room_) return absl::OkStatus();
  uint64_t budget = step_tokens_ - std::min<uint64_t>(step_tokens_, wanted_);
  uint64_t room = usage_.num_blocks() - usage_.blocks_held();
  bool has_room = true;
  size_t count = 0;
  for (; count < waiting_.size() && !free_rows_.empty() && budget > 0 && has_room; ++count) {
    const Waiting& waiting = waiting_[count];
    uint32_t tokens = waiting.request->final_tokens();
    if (CanEverFit(*waiting.request)) {
      const uint32_t first_chunk = NextTokens(waiting.known);
      tokens = admission_ == Admission::kPrompt ? waiting.known : first_chunk;
      budget -= std::min<uint64_t>(budget, first_chunk);
      const uint64_t blocks = CeilDiv(tokens, block_tokens_);
      has_room = blocks <= room;
      room -= std::min(blocks, room);
    }
    buffers_.rows()[count] = free_rows_.back();
    buffers_.tokens()[count] = static_cast<int32_t>(tokens);
    free_rows_.pop_back();
  }
  if (count == 0) return absl::OkStatus();
  KVPAGE_REPLAY_RETURN_IF_ERROR(client_.Reserve(count));
  return SettleAdmissions(count, has_room);
}

// Admits or rejects, as the cache answered. It must be exact: it refuses the last one if there is
// no room for it, and no other.
absl::Status Scheduler::SettleAdmissions(size_t count, bool last_has_room) {
  std::vector<int32_t> unused_rows;
  for (size_t i = 0; i < count; ++i) {
    const int32_t row = buffers_.rows()[i];
    const OpStatus status = buffers_.statuses()[i];
    const bool can_fit = CanEverFit(*waiting_.front().request);
    const bool has_room = last_has_room || i + 1 < count;
    if (status == OpStatus::kOk && can_fit && has_room) {
      AdmitFront(row, static_cast<uint32_t>(buffers_.tokens()[i]));
      continue;
    }
    unused_rows.push_back(row);
    if (status == OpStatus::kFull && can_fit && !has_room) {
      no_room_ = true;
    } else if (status == OpStatus::kNeverFits && !can_fit) {
      ++counts_.never_fits;
      waiting_.pop_front();
    } else if (status == OpStatus::kTableFull && !can_fit) {
      ++counts_.table_full;
      waiting_.pop_front();
    } else {
      return Unexpected("Reserve", row, status);
    }
  }
  free_rows_.insert(free_rows_.end(), unused_rows.rbegin(), unused_rows.rend());
  return absl::OkStatus();
}

void Scheduler::AdmitFront(int32_t row, uint32_t reserved) {
  const Waiting waiting = waiting_.front();
  const Request& request = *waiting.request;
  waiting_.pop_front();
  const uint64_t blocks = CeilDiv(reserved, block_tokens_);
  usage_.Allocate(blocks);
  running_.push_back({.request = &request,
                      .row = row,
                      .known = waiting.known,
                      .last = request.prompt_tokens + request.output_tokens,
                      .held = 0,
                      .computed = 0,
                      .planned = 0,
                      .capacity = blocks * block_tokens_});
}

// Shares the tokens of the step out, as far as they are not in drafts. Returns the number of rows
// in the batch.
size_t Scheduler::PlanAppends() {
  places_.clear();
  prefills_.clear();
  batch_tokens_ = 0;
  for (size_t place = 0; place < running_.size(); ++place) {
    Running& sequence = running_[place];
    sequence.planned = 0;
    if (sequence.known - sequence.held > 1) {
      prefills_.push_back(static_cast<uint32_t>(place));
    } else if (speculate_ == 0 && batch_tokens_ < step_tokens_) {
      AddToBatch(place, 1);
    }
  }
  for (uint32_t place : prefills_) {
    const uint64_t budget = step_tokens_ - drafted_tokens_ - batch_tokens_;
    if (budget == 0) break;
    const uint32_t tokens = NextTokens(running_[place].known - running_[place].held);
    AddToBatch(place, static_cast<uint32_t>(std::min<uint64_t>(tokens, budget)));
  }
  return places_.size();
}

void Scheduler::AddToBatch(size_t place, uint32_t tokens) {
  buffers_.rows()[places_.size()] = running_[place].row;
  buffers_.tokens()[places_.size()] = static_cast<int32_t>(tokens);
  running_[place].planned = tokens;
  places_.push_back(static_cast<uint32_t>(place));
  batch_tokens_ += tokens;
}

absl::Status Scheduler::AppendTokens() {
  size_t count = PlanAppends();
  if (count == 0) return absl::OkStatus();  // all are in drafts
  for (;;) {
    KVPAGE_REPLAY_RETURN_IF_ERROR(client_.Append(count, batch_tokens_));
    size_t num_full = 0;
    KVPAGE_REPLAY_RETURN_IF_ERROR(SettleAppends(num_full));
    if (num_full == 0) return absl::OkStatus();
    if (running_.size() == 1) {
      return Unexpected("Append", running_.front().row, OpStatus::kFull);  // it is alone
    }
    KVPAGE_REPLAY_RETURN_IF_ERROR(PreemptYoungest());

    // Once more for those that found no room, and were not preempted themselves.
    batch_tokens_ = 0;
    const std::vector<uint32_t> full(places_.begin(), places_.begin() + num_full);
    places_.clear();
    for (uint32_t place : full) {
      if (place < running_.size()) AddToBatch(place, running_[place].planned);
    }
    count = places_.size();
    if (count == 0) return absl::OkStatus();
  }
}

// Takes over what was appended; moves the places that found no room to the front of places_.
absl::Status Scheduler::SettleAppends(size_t& num_full) {
  const std::span<const OpStatus> statuses = buffers_.statuses();
  for (size_t i = 0; i < places_.size(); ++i) {
    Running& sequence = running_[places_[i]];
    if (statuses[i] == OpStatus::kOk) {
      sequence.held += sequence.planned;
      usage_.AddTokens(sequence.planned);
      if (sequence.held > sequence.capacity) Grow(sequence);
    } else if (statuses[i] == OpStatus::kFull) {
      places_[num_full++] = places_[i];
    } else {
      return Unexpected("Append", sequence.row, statuses[i]);
    }
  }
  return absl::OkStatus();
}

void Scheduler::Grow(Running& sequence) {
  const uint64_t capacity = RoundUp(sequence.held, block_tokens_);
  usage_.Allocate((capacity - sequence.capacity) / block_tokens_);
  sequence.capacity = capacity;
}

absl::Status Scheduler::PreemptYoungest() {
  const Running victim = running_.back();
  running_.pop_back();
  waiting_.push_front({victim.request, victim.known});
  free_rows_.push_back(victim.row);
  usage_.DropTokens(victim.held);
  usage_.Free(victim.capacity / block_tokens_ + victim.draft_blocks);
  ++counts_.preemptions;
  counts_.recomputed_tokens += victim.computed;
  no_room_ = true;
  buffers_.rows()[0] = victim.row;
  return CloseRows(1);
}

// Gives each request whose tokens are all in the cache its next one, and closes those that have
// their last.
absl::Status Scheduler::CloseFinished() {
  size_t num_finished = 0;
  size_t num_kept = 0;
  wanted_ = 0;
  for (Running& sequence : running_) {
    sequence.computed = sequence.held;
    if (sequence.held == sequence.known) {
      if (sequence.known < sequence.last) ++sequence.known;
      if (sequence.known == sequence.last) {
        buffers_.rows()[num_finished++] = sequence.row;
        free_rows_.push_back(sequence.row);
        usage_.DropTokens(sequence.held);
        usage_.Free(sequence.capacity / block_tokens_);
        ++counts_.served;
        counts_.prompt_tokens += sequence.request->prompt_tokens;
        counts_.generated_tokens += sequence.request->output_tokens;
        continue;
      }
    }
    wanted_ += WantedTokens(sequence);
    if (&running_[num_kept] != &sequence) running_[num_kept] = sequence;
    ++num_kept;
  }
  running_.resize(num_kept);
  if (num_finished == 0) return absl::OkStatus();
  no_room_ = false;
  return CloseRows(num_finished);
}

// Closes the first `count` rows of the buffers.
absl::Status Scheduler::CloseRows(size_t count) {
  KVPAGE_REPLAY_RETURN_IF_ERROR(client_.Close(count));
  for (size_t i = 0; i < count; ++i) {
    const OpStatus status = buffers_.statuses()[i];
    if (status != OpStatus::kOk) return Unexpected("Close", buffers_.rows()[i], status);
  }
  return absl::OkStatus();
}

}  // namespace kvpage::replay
