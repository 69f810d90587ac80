// SPDX-License-Identifier: Apache-2.0
//
// tests/support/reader_step.h
//
// Steps of a writer whose rows others read all the time: drafts are opened, marked and committed,
// some rows are then truncated and some closed, all under the fence of the step; and the readers,
// which check every mark that they find. The functions run on the CPU or in kernels; a ReaderRun
// (reader_run.h) puts a step together.
//
// What a row holds is kept beside the cache in plain memory, for each of its latest generations:
// written before an operation publishes it, so that a reader that sees the generation may read it.
//
// A reader says which steps it has seen when it begins to read, and says so again when it has
// ended: then it will not come back to what those steps let go.

#ifndef KVPAGE_TESTS_SUPPORT_READER_STEP_H_
#define KVPAGE_TESTS_SUPPORT_READER_STEP_H_

#include <cstdint>

#include "kvpage/core/bits.h"
#include "kvpage/core/draft_batch.h"
#include "kvpage/core/page_table_ref.h"

namespace kvpage::test {

enum class WriterPart { kPlan, kMark, kShorten, kFinish, kAwait };

enum ReaderCount : uint32_t {
  kReadsChecked,
  kMarksChecked,
  kReadsRepeated,  // the row changed meanwhile
  kCommitted,      // tokens
  kShortened,      // rows truncated or closed
  kWrongMarks,     // errors, as are those below
  kWrongStatuses,
  kGivenUp,  // the writer did not wait for a reader any longer
  kNumReaderCounts
};

// Arrays in memory of the backend; [n] is [num_rows].
struct ReaderStep {
  static constexpr int32_t kMaxTokens = 6;
  static constexpr int32_t kMaxBranches = 2;
  static constexpr uint32_t kRowBlocks = 8;
  static constexpr uint32_t kBlockTokens = 4;
  static constexpr uint32_t kRowTokens = kRowBlocks * kBlockTokens;
  static constexpr uint32_t kGenerations = 16;  // more than come while one read lasts

  int32_t num_rows = 0;
  int32_t num_readers = 0;

  uint64_t* kv = nullptr;         // [num_blocks + 1][kBlockTokens]
  uint64_t* truth = nullptr;      // [n][kGenerations][kRowTokens]
  uint64_t* step = nullptr;       // [1], the fence of its operations; from 1 on
  uint64_t* signalled = nullptr;  // [1], the epoch that completes next
  uint64_t* begun = nullptr;      // [1], all steps before it have been made
  uint64_t* ended = nullptr;      // [num_readers], begun as the reader saw it before its last read
  uint64_t* counts = nullptr;     // [kNumReaderCounts]

  int32_t* rows = nullptr;    // [n], 0 .. num_rows - 1
  int32_t* zeros = nullptr;   // [n]
  int32_t* tokens = nullptr;  // [n], to draft
  int32_t* branches = nullptr;
  int32_t* chosen = nullptr;
  int32_t* accepted = nullptr;
  int32_t* truncated = nullptr;  // [n], rows
  int32_t* lengths = nullptr;    // [n], of truncated rows
  int32_t* closed = nullptr;     // [n], rows
  int32_t* num_truncated = nullptr;
  int32_t* num_closed = nullptr;
  int64_t* slots = nullptr;     // [num_slots()]
  BlockCopy* copies = nullptr;  // [n][kMaxBranches]
  OpStatus* open_statuses = nullptr;
  OpStatus* begin_statuses = nullptr;
  OpStatus* commit_statuses = nullptr;
  OpStatus* truncate_statuses = nullptr;
  OpStatus* close_statuses = nullptr;

  KVPAGE_HOST_DEVICE int32_t num_slots() const { return num_rows * kMaxTokens * kMaxBranches; }
  KVPAGE_HOST_DEVICE uint64_t* Truth(uint32_t row, uint32_t generation) const {
    return truth + (uint64_t{row} * kGenerations + generation % kGenerations) * kRowTokens;
  }
  // Of this step.
  KVPAGE_HOST_DEVICE uint32_t Chance(int32_t row, uint64_t salt, uint32_t n) const {
    const uint64_t hash = MixBits(MixBits(*step * 4096 + static_cast<uint64_t>(row)) + salt);
    return static_cast<uint32_t>(hash % n);
  }
  KVPAGE_HOST_DEVICE uint64_t Mark(int32_t row, uint32_t position, int32_t branch) const {
    return MixBits(*step << 32 | static_cast<uint64_t>(row) << 16 | position << 4 |
                   static_cast<uint64_t>(branch));
  }
};

template <Atomics A>
class ReaderStandIn {
 public:
  KVPAGE_HOST_DEVICE ReaderStandIn(const ReaderStep& step, const PageTableStorage& table)
      : s_(step), table_(table) {}

  // --- the writer ---

  // What each row drafts, and which rows get shorter after it: one thread, for all.
  KVPAGE_HOST_DEVICE void Plan() const {
    *s_.num_truncated = 0;
    *s_.num_closed = 0;
    for (int32_t row = 0; row < s_.num_rows; ++row) {
      const int32_t held = table_.OwnSequence(static_cast<uint32_t>(row)).kv_len;
      const int32_t room = static_cast<int32_t>(ReaderStep::kRowTokens) - held;
      const auto tokens = static_cast<int32_t>(s_.Chance(row, 1, ReaderStep::kMaxTokens + 1));
      s_.tokens[row] = tokens < room ? tokens : room;
      s_.branches[row] = static_cast<int32_t>(1 + s_.Chance(row, 2, ReaderStep::kMaxBranches));
      s_.chosen[row] =
          static_cast<int32_t>(s_.Chance(row, 3, static_cast<uint32_t>(s_.branches[row])));
      s_.accepted[row] =
          static_cast<int32_t>(s_.Chance(row, 4, static_cast<uint32_t>(s_.tokens[row]) + 1));
      const uint32_t end = s_.Chance(row, 5, room <= 1 ? 10 : 50);
      if (end < 5) {
        s_.truncated[(*s_.num_truncated)++] = row;
      } else if (end < 8) {
        s_.closed[(*s_.num_closed)++] = row;
      }
    }
  }

  // Writes the KV of a row's draft, and what the row will hold: in this generation, or in the next
  // if its tail is replaced.
  KVPAGE_HOST_DEVICE void Mark(int32_t row) const {
    const SequenceState state = table_.OwnSequence(static_cast<uint32_t>(row));
    const auto kv_len = static_cast<uint32_t>(state.kv_len);
    const OpStatus status = s_.begin_statuses[row];
    const bool drafts = status == OpStatus::kOk;
    Check(drafts || status == OpStatus::kFull || status == OpStatus::kRetryAfterFence);
    uint64_t* const truth = s_.Truth(static_cast<uint32_t>(row), state.generation);
    uint64_t* const next = s_.Truth(static_cast<uint32_t>(row), state.generation + 1);
    for (uint32_t at = 0; at < kv_len; ++at) next[at] = truth[at];
    if (!drafts) return;
    int32_t slot = 0;
    for (int32_t i = 0; i < row; ++i) slot += s_.tokens[i] * s_.branches[i];
    for (int32_t branch = 0; branch < s_.branches[row]; ++branch) {
      for (int32_t t = 0; t < s_.tokens[row]; ++t, ++slot) {
        const uint32_t at = kv_len + static_cast<uint32_t>(t);
        const uint64_t mark = s_.Mark(row, at, branch);
        s_.kv[s_.slots[slot]] = mark;
        if (branch == s_.chosen[row] && t < s_.accepted[row]) truth[at] = next[at] = mark;
      }
    }
    A::AddRelaxed(&s_.counts[kCommitted], static_cast<uint64_t>(s_.accepted[row]));
  }

  // After the commit. What a row that gets shorter will hold: truncated row number i.
  KVPAGE_HOST_DEVICE void Shorten(int32_t i) const {
    Check((s_.begin_statuses[i] == OpStatus::kOk) == (s_.commit_statuses[i] == OpStatus::kOk));
    if (i >= *s_.num_truncated) return;
    const int32_t row = s_.truncated[i];
    const SequenceState state = table_.OwnSequence(static_cast<uint32_t>(row));
    const uint32_t length = s_.Chance(row, 6, static_cast<uint32_t>(state.kv_len) + 1) /
                            ReaderStep::kBlockTokens * ReaderStep::kBlockTokens;
    s_.lengths[i] = static_cast<int32_t>(length);
    const uint64_t* const truth = s_.Truth(static_cast<uint32_t>(row), state.generation);
    uint64_t* const next = s_.Truth(static_cast<uint32_t>(row), state.generation + 1);
    for (uint32_t at = 0; at < length; ++at) next[at] = truth[at];
  }

  // After the last operation: one thread.
  KVPAGE_HOST_DEVICE void Finish() const {
    for (int32_t i = 0; i < *s_.num_truncated; ++i) {
      Check(s_.truncate_statuses[i] == OpStatus::kOk);
    }
    for (int32_t i = 0; i < *s_.num_closed; ++i) Check(s_.close_statuses[i] == OpStatus::kOk);
    A::AddRelaxed(&s_.counts[kShortened],
                  static_cast<uint64_t>(*s_.num_truncated + *s_.num_closed));
    A::StoreRelease(s_.begun, ++*s_.step);
  }
  // Whether the reader will not come back to what the step before the last one let go: that epoch
  // completes next.
  KVPAGE_HOST_DEVICE bool HasMovedOn(int32_t reader) const {
    return A::LoadAcquire(&s_.ended[reader]) + 1 >= *s_.step;
  }

  // --- a reader ---

  struct Seen {
    uint64_t counts[kNumReaderCounts] = {};
  };
  // Reads a row, and says that it has ended.
  KVPAGE_HOST_DEVICE void Read(int32_t reader, uint32_t row, Seen& seen) const {
    const uint64_t begun = A::LoadAcquire(s_.begun);
    BlockId ids[ReaderStep::kRowBlocks];
    SequenceState state;
    if (table_.ReadRow(row, state, [&](uint32_t index, BlockId id) { ids[index] = id; })) {
      const auto kv_len = static_cast<uint32_t>(state.kv_len);
      const uint64_t* const truth = s_.Truth(row, state.generation);
      for (uint32_t at = 0; at < kv_len; ++at) {
        const uint64_t slot =
            uint64_t{ids[at / ReaderStep::kBlockTokens]} * ReaderStep::kBlockTokens +
            at % ReaderStep::kBlockTokens;
        seen.counts[kWrongMarks] += s_.kv[slot] != truth[at];
      }
      seen.counts[kMarksChecked] += kv_len;
      seen.counts[kReadsChecked] += kv_len > 0;
    } else {
      ++seen.counts[kReadsRepeated];
    }
    A::StoreRelease(&s_.ended[reader], begun);
  }
  KVPAGE_HOST_DEVICE void Report(const Seen& seen) const {
    for (uint32_t i = 0; i < kNumReaderCounts; ++i) A::AddRelaxed(&s_.counts[i], seen.counts[i]);
  }

 private:
  KVPAGE_HOST_DEVICE void Check(bool good) const {
    if (!good) A::AddRelaxed(&s_.counts[kWrongStatuses], uint64_t{1});
  }

  const ReaderStep& s_;
  const PageTableRef<A> table_;
};

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_SUPPORT_READER_STEP_H_
