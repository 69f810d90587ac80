// SPDX-License-Identifier: Apache-2.0
//
// tests/support/decode_step.h
//
// A speculative decode step whose model is a stand-in: it marks the KV slots that it is given, and
// checks the marks that it finds through the exported tables. What it drafts and accepts follows
// from a hash of row and step, on the device. Beside the cache it keeps every row's marks in a
// plain array, as a cache without pages would.
//
// Row 0 is a prompt. The others are forked from it, decode until they are long or the hash says so,
// are closed, and are forked again. The functions run for one row each, on the CPU or in a kernel;
// EnqueueDecodeStep (decode_run.h) puts a step together.

#ifndef KVPAGE_TESTS_SUPPORT_DECODE_STEP_H_
#define KVPAGE_TESTS_SUPPORT_DECODE_STEP_H_

#include <cstdint>

#include "kvpage/core/bits.h"
#include "kvpage/core/draft_batch.h"
#include "kvpage/core/page_table_ref.h"

namespace kvpage::test {

enum class StandIn { kPlan, kAdopt, kDraft, kVerify, kFinish };

enum DecodeCheck : uint32_t {
  kMarkMissing,   // a slot that the table names holds another mark
  kWrongLength,   // an export or a row has another length than the counts add up to
  kTailNotEmpty,  // something in the table behind a row's blocks
  kWrongCsr,
  kWrongSlots,
  kWrongStatus,
  kNumDecodeChecks
};

// Arrays in memory of the backend; [n] is [num_rows].
struct DecodeStep {
  static constexpr int32_t kMaxTokens = 6;
  static constexpr int32_t kMaxBranches = 2;

  int32_t num_rows = 0;     // that decode: rows 1 .. num_rows of the table
  int32_t padded_rows = 0;  // of the exports
  int32_t row_tokens = 0;   // of the longest row
  int32_t width = 0;        // blocks of the longest row
  int32_t prompt_tokens = 0;

  uint64_t* kv = nullptr;       // [num_blocks + 1][block_tokens]
  uint64_t* marks = nullptr;    // [num_rows + 1][row_tokens], as if there were no pages
  int32_t* lengths = nullptr;   // [num_rows + 1]
  uint64_t* step = nullptr;     // [1]
  uint64_t* epoch = nullptr;    // [1]
  uint64_t* errors = nullptr;   // [kNumDecodeChecks]
  uint64_t* counts = nullptr;   // [3]: drafted, accepted, refused rows
  int32_t* rows = nullptr;      // [n], 1 .. num_rows
  int32_t* tokens = nullptr;    // [n], to draft
  int32_t* branches = nullptr;  // [n]

  int32_t* ended = nullptr;        // [n], rows to close and to fork again
  int32_t* num_ended = nullptr;    // [1]
  int32_t* parents = nullptr;      // [n]
  int32_t* fork_tokens = nullptr;  // [n]
  OpStatus* close_statuses = nullptr;
  OpStatus* fork_statuses = nullptr;
  BlockCopy* fork_copies = nullptr;

  OpStatus* begin_statuses = nullptr;
  int64_t* slots = nullptr;  // [num_slots()]
  BlockCopy* copies = nullptr;
  int32_t* shown = nullptr;     // [n], the branch that is verified, or -1
  int32_t* accepted = nullptr;  // [n]
  int32_t* committed_branches = nullptr;
  OpStatus* commit_statuses = nullptr;

  OpStatus* table_statuses = nullptr;
  int32_t* table = nullptr;          // [padded_rows][width]
  int32_t* table_lengths = nullptr;  // [padded_rows]
  OpStatus* csr_statuses = nullptr;
  int32_t* indptr = nullptr;   // [padded_rows + 1]
  int32_t* indices = nullptr;  // [padded_rows * width]
  int32_t* last_page_len = nullptr;
  OpStatus* slot_statuses = nullptr;
  int64_t* range_slots = nullptr;  // [num_slots()], of the shown branches
  int32_t* slot_indptr = nullptr;  // [padded_rows + 1]

  KVPAGE_HOST_DEVICE int32_t num_slots() const { return num_rows * kMaxTokens * kMaxBranches; }
  KVPAGE_HOST_DEVICE uint64_t Hash(int32_t row, uint64_t salt) const {
    return MixBits(MixBits(*step * 4096 + static_cast<uint64_t>(row)) + salt);
  }
  KVPAGE_HOST_DEVICE uint64_t Mark(int32_t row, int32_t position, int32_t branch) const {
    return Hash(row, 1000 + static_cast<uint64_t>(position * kMaxBranches + branch));
  }
  KVPAGE_HOST_DEVICE uint64_t* MarksOf(int32_t row) const {
    return marks + int64_t{row} * row_tokens;
  }
};

template <Atomics A>
class DecodeStandIn {
 public:
  KVPAGE_HOST_DEVICE DecodeStandIn(const DecodeStep& step, const PageTableStorage& table)
      : s_(step), table_(table) {}

  // What each row drafts, and which rows end: one thread, for all.
  KVPAGE_HOST_DEVICE void Plan() const {
    int32_t num_ended = 0;
    for (int32_t i = 0; i < s_.num_rows; ++i) {
      const int32_t row = s_.rows[i];
      s_.tokens[i] = static_cast<int32_t>(s_.Hash(row, 1) % (DecodeStep::kMaxTokens + 1));
      s_.branches[i] = static_cast<int32_t>(1 + s_.Hash(row, 2) % DecodeStep::kMaxBranches);
      const SequenceState state = table_.Sequence(static_cast<uint32_t>(row));
      if (state.open && state.kv_len + DecodeStep::kMaxTokens <= s_.row_tokens &&
          s_.Hash(row, 3) % 64 != 0) {
        continue;
      }
      s_.ended[num_ended] = row;
      s_.parents[num_ended] = 0;
      s_.fork_tokens[num_ended++] =
          static_cast<int32_t>(s_.Hash(row, 4) % static_cast<uint64_t>(s_.prompt_tokens + 1));
    }
    *s_.num_ended = num_ended;
  }

  // Ended row number i begins anew.
  KVPAGE_HOST_DEVICE void Adopt(int32_t i) const {
    if (i >= *s_.num_ended) return;
    const int32_t row = s_.ended[i];
    Check(s_.close_statuses[i] == OpStatus::kOk || s_.close_statuses[i] == OpStatus::kClosed,
          kWrongStatus);
    const bool ok = s_.fork_statuses[i] == OpStatus::kOk;
    Check(ok || IsShort(s_.fork_statuses[i]), kWrongStatus);
    s_.lengths[row] = ok ? s_.fork_tokens[i] : 0;
    for (int32_t p = 0; p < s_.lengths[row]; ++p) s_.MarksOf(row)[p] = s_.MarksOf(0)[p];
  }

  // Writes the KV of the draft tokens of row i, of every branch.
  KVPAGE_HOST_DEVICE void Draft(int32_t i) const {
    int32_t at = 0;
    for (int32_t j = 0; j < i; ++j) at += s_.tokens[j] * s_.branches[j];
    const int32_t row = s_.rows[i];
    const OpStatus status = s_.begin_statuses[i];
    s_.shown[i] = -1;
    if (status != OpStatus::kOk) {
      Check(IsShort(status) || status == OpStatus::kClosed, kWrongStatus);
      A::AddRelaxed(&s_.counts[2], uint64_t{1});
      return;
    }
    s_.shown[i] = static_cast<int32_t>(s_.Hash(row, 5) % static_cast<uint64_t>(s_.branches[i]));
    for (int32_t branch = 0; branch < s_.branches[i]; ++branch) {
      for (int32_t t = 0; t < s_.tokens[i]; ++t) {
        s_.kv[s_.slots[at++]] = s_.Mark(row, s_.lengths[row] + t, branch);
      }
    }
  }

  // Reads line i of the exports, committed tokens and draft, and says how much is accepted.
  KVPAGE_HOST_DEVICE void Verify(int32_t i) const {
    const int32_t block_tokens = static_cast<int32_t>(table_.block_tokens());
    const int32_t* const line = s_.table + int64_t{i} * s_.width;
    const int32_t length = s_.table_lengths[i];
    const int32_t num_blocks = (length + block_tokens - 1) / block_tokens;
    for (int32_t k = num_blocks; k < s_.width; ++k) Check(line[k] == -1, kTailNotEmpty);
    const int32_t csr_blocks = s_.indptr[i + 1] - s_.indptr[i];
    Check(csr_blocks == num_blocks, kWrongCsr);
    Check((csr_blocks - 1) * block_tokens + s_.last_page_len[i] == length, kWrongCsr);
    for (int32_t k = 0; k < csr_blocks; ++k) {
      Check(s_.indices[s_.indptr[i] + k] == line[k], kWrongCsr);
    }
    if (i >= s_.num_rows) {
      Check(length == 0, kWrongLength);
      Check(s_.slot_indptr[i] == s_.slot_indptr[i + 1], kWrongSlots);
      return;
    }
    const int32_t row = s_.rows[i];
    const int32_t kv_len = s_.lengths[row];
    const bool drafting = s_.shown[i] >= 0;
    const int32_t drafted = drafting ? s_.tokens[i] : 0;
    Check(length == kv_len + drafted, kWrongLength);
    Check(s_.table_statuses[i] == s_.csr_statuses[i], kWrongStatus);
    uint64_t* const marks = s_.MarksOf(row);
    for (int32_t p = 0; p < kv_len + drafted && p < length; ++p) {
      const int64_t slot = int64_t{line[p / block_tokens]} * block_tokens + p % block_tokens;
      const uint64_t mark = p < kv_len ? marks[p] : s_.Mark(row, p, s_.shown[i]);
      Check(s_.kv[slot] == mark, kMarkMissing);
      if (p >= kv_len) {
        Check(s_.range_slots[s_.slot_indptr[i] + p - kv_len] == slot, kWrongSlots);
      }
    }
    s_.committed_branches[i] = drafting ? s_.shown[i] : 0;
    s_.accepted[i] =
        drafted == 0 ? 0
                     : static_cast<int32_t>(s_.Hash(row, 6) % static_cast<uint64_t>(drafted + 1));
    for (int32_t t = 0; t < s_.accepted[i]; ++t) {
      marks[kv_len + t] = s_.Mark(row, kv_len + t, s_.shown[i]);
    }
    s_.lengths[row] += s_.accepted[i];
    A::AddRelaxed(&s_.counts[0], static_cast<uint64_t>(drafted));
    A::AddRelaxed(&s_.counts[1], static_cast<uint64_t>(s_.accepted[i]));
  }

  // After the commit. The first moves the step on, which the others do not ask for.
  KVPAGE_HOST_DEVICE void Finish(int32_t i) const {
    const bool drafting = s_.shown[i] >= 0;
    Check((s_.commit_statuses[i] == OpStatus::kOk) == drafting, kWrongStatus);
    const int32_t row = s_.rows[i];
    const SequenceState state = table_.Sequence(static_cast<uint32_t>(row));
    Check(state.kv_len == s_.lengths[row] && !state.drafting, kWrongLength);
    if (i == 0) ++*s_.step;
  }

 private:
  KVPAGE_HOST_DEVICE static bool IsShort(OpStatus status) {
    return status == OpStatus::kFull || status == OpStatus::kRetryAfterFence;
  }
  KVPAGE_HOST_DEVICE void Check(bool good, DecodeCheck check) const {
    if (!good) A::AddRelaxed(&s_.errors[check], uint64_t{1});
  }

  const DecodeStep& s_;
  const PageTableRef<A> table_;
};

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_SUPPORT_DECODE_STEP_H_
