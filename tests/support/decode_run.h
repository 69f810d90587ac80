// SPDX-License-Identifier: Apache-2.0
//
// tests/support/decode_run.h
//
// A run of decode steps (decode_step.h) on the cache of a backend: the arrays, one step's
// operations in order, and the checks at the end. The stand-ins are given as functions that run or
// enqueue them, so that a step can be captured in a graph.

#ifndef KVPAGE_TESTS_SUPPORT_DECODE_RUN_H_
#define KVPAGE_TESTS_SUPPORT_DECODE_RUN_H_

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "kvpage/core/carver.h"
#include "kvpage/core/cpu_atomics.h"
#include "tests/support/cache_driver.h"
#include "tests/support/decode_step.h"

namespace kvpage::test {

using RunStandIn = void (*)(StreamRef, StandIn, const DecodeStep&, const PageTableStorage&);

// Too few blocks for all rows at once: drafts and forks are refused now and then.
inline constexpr int32_t kDecodeRows = 48;
inline constexpr KvCacheOptions kDecodeOptions = {.num_blocks = 480,
                                                  .block_tokens = 4,
                                                  .max_sequences = kDecodeRows + 1,
                                                  .max_blocks_per_sequence = 18,
                                                  .blocks_per_shard = 64,
                                                  .max_draft_tokens = DecodeStep::kMaxTokens,
                                                  .max_draft_branches = DecodeStep::kMaxBranches};

class DecodeRun {
 public:
  DecodeRun(CacheDriver& driver, RunStandIn run) : d_(driver), run_(run) {
    step_.num_rows = kDecodeRows;
    step_.padded_rows = 64;
    step_.width = static_cast<int32_t>(kDecodeOptions.max_blocks_per_sequence);
    step_.row_tokens = step_.width * static_cast<int32_t>(kDecodeOptions.block_tokens);
    step_.prompt_tokens = 21;
    Carver counting(nullptr);
    Carve(counting);
    memory_ = *OwnedMemory::Allocate(*d_.access().own, counting.bytes(), Carver::kAlignment);
    Carver carver(memory_.get());
    Carve(carver);
    d_.access().upload(memory_.get(), std::vector<char>(counting.bytes()).data(), counting.bytes());
    std::vector<int32_t> rows(kDecodeRows);
    std::iota(rows.begin(), rows.end(), 1);
    d_.access().upload(step_.rows, rows.data(), rows.size() * sizeof(rows[0]));
    d_.Write(step_.epoch, uint64_t{1});
    // The prompt.
    std::vector<uint64_t> marks(static_cast<size_t>(step_.prompt_tokens));
    for (size_t p = 0; p < marks.size(); ++p) marks[p] = MixBits(p);
    const RowResults prompt =
        d_.Append({0}, {step_.prompt_tokens}, {.slot_capacity = step_.prompt_tokens});
    for (size_t p = 0; p < marks.size(); ++p) d_.Write(step_.kv + prompt.slots[p], marks[p]);
    d_.access().upload(step_.marks, marks.data(), marks.size() * sizeof(marks[0]));
    d_.Write(step_.lengths, step_.prompt_tokens);
  }

  void EnqueueStep() {
    KvCache& cache = d_.cache();
    const StreamRef stream = d_.stream();
    const Fence fence{.epoch_word = step_.epoch};
    const KvTensor kv = {.data = step_.kv,
                         .block_stride = kDecodeOptions.block_tokens * sizeof(uint64_t),
                         .token_stride = sizeof(uint64_t),
                         .head_bytes = sizeof(uint64_t)};
    const int32_t n = step_.num_rows;
    Run(StandIn::kPlan);
    Ok(cache.Close(stream, {Ended(step_.close_statuses), fence}));
    Ok(cache.Fork(
        stream, {Ended(step_.fork_statuses), step_.parents, step_.fork_tokens, step_.fork_copies}));
    Ok(cache.CopyBlocks(stream, step_.fork_copies, n, {&kv, 1}));
    Run(StandIn::kAdopt);

    Ok(cache.BeginDraft(stream, {.batch = All(step_.begin_statuses),
                                 .tokens = step_.tokens,
                                 .branches = step_.branches,
                                 .slots = step_.slots,
                                 .slot_capacity = step_.num_slots(),
                                 .copies = step_.copies}));
    Ok(cache.CopyBlocks(stream, step_.copies, n * DecodeStep::kMaxBranches, {&kv, 1}));
    Run(StandIn::kDraft);
    Ok(cache.ExportTable(stream, {.batch = All(step_.table_statuses),
                                  .padded_rows = step_.padded_rows,
                                  .branches = step_.shown,
                                  .naming = {.sentinel = -1},
                                  .table = step_.table,
                                  .width = step_.width,
                                  .lengths = step_.table_lengths}));
    Ok(cache.ExportCsr(stream, {.batch = All(step_.csr_statuses),
                                .padded_rows = step_.padded_rows,
                                .branches = step_.shown,
                                .indptr = step_.indptr,
                                .indices = step_.indices,
                                .index_capacity = step_.padded_rows * step_.width,
                                .last_page_len = step_.last_page_len}));
    Ok(cache.ExportSlots(stream, {.batch = All(step_.slot_statuses),
                                  .padded_rows = step_.padded_rows,
                                  .branches = step_.shown,
                                  .tokens = step_.tokens,
                                  .slots = step_.range_slots,
                                  .slot_capacity = step_.num_slots(),
                                  .slot_indptr = step_.slot_indptr}));
    Run(StandIn::kVerify);
    Ok(cache.CommitDraft(stream, {.batch = All(step_.commit_statuses),
                                  .tokens = step_.accepted,
                                  .branches = step_.committed_branches,
                                  .fence = fence}));
    Ok(cache.SignalNext(stream, step_.epoch));
    Run(StandIn::kFinish);
  }

  // After `steps` steps, and once the stream has come to rest.
  void Check(uint64_t steps) {
    EXPECT_EQ(d_.Read(step_.step), steps);
    EXPECT_EQ(d_.Read(step_.epoch), steps + 1);
    EXPECT_EQ(d_.Read(step_.errors, kNumDecodeChecks), std::vector<uint64_t>(kNumDecodeChecks));
    // Every token of every row, by the table as it is now.
    const size_t block_tokens = kDecodeOptions.block_tokens;
    const auto kv = d_.Read(step_.kv, (kDecodeOptions.num_blocks + 1) * block_tokens);
    const auto lengths = d_.Read(step_.lengths, kDecodeRows + 1);
    uint64_t wrong_marks = 0;
    for (int32_t row = 0; row <= kDecodeRows; ++row) {
      EXPECT_EQ(d_.Length(row), lengths[static_cast<size_t>(row)]) << "row " << row;
      const Ids entries = d_.WholeRow(row);
      const auto marks = d_.Read(step_.MarksOf(row), static_cast<size_t>(step_.row_tokens));
      for (size_t p = 0; p < static_cast<size_t>(d_.Length(row)); ++p) {
        wrong_marks += kv[entries[p / block_tokens] * block_tokens + p % block_tokens] != marks[p];
      }
    }
    EXPECT_EQ(wrong_marks, 0u);
    const AuditReport report = d_.Audit();
    EXPECT_TRUE(report.ok());
    EXPECT_EQ(report.open_drafts, 0u);
    EXPECT_GT(counts()[1], steps * kDecodeRows / 2);
    EXPECT_GT(counts()[2], 0u) << "the pool was never short";
  }

  std::vector<uint64_t> counts() { return d_.Read(step_.counts, 3); }
  std::vector<int32_t> lengths() { return d_.Read(step_.lengths, kDecodeRows + 1); }

 private:
  static void Ok(const absl::Status& status) { EXPECT_TRUE(status.ok()) << status; }
  void Run(StandIn which) { run_(d_.stream(), which, step_, d_.cache().table()); }
  RowBatch All(OpStatus* statuses) const {
    return {.rows = step_.rows, .num_rows = step_.num_rows, .statuses = statuses};
  }
  RowBatch Ended(OpStatus* statuses) const {
    return {.rows = step_.ended,
            .num_rows = step_.num_rows,
            .statuses = statuses,
            .count = step_.num_ended};
  }

  void Carve(Carver& carver) {
    DecodeStep& s = step_;
    const size_t n = kDecodeRows;
    const size_t padded = static_cast<size_t>(s.padded_rows);
    const size_t names = padded * static_cast<size_t>(s.width);
    const size_t slots = static_cast<size_t>(s.num_slots());
    s.kv = carver.Take<uint64_t>((kDecodeOptions.num_blocks + 1) * kDecodeOptions.block_tokens);
    s.marks = carver.Take<uint64_t>((n + 1) * static_cast<size_t>(s.row_tokens));
    s.lengths = carver.Take<int32_t>(n + 1);
    s.step = carver.Take<uint64_t>(1);
    s.epoch = carver.Take<uint64_t>(1);
    s.errors = carver.Take<uint64_t>(kNumDecodeChecks);
    s.counts = carver.Take<uint64_t>(3);
    for (int32_t** words : {&s.rows, &s.tokens, &s.branches, &s.ended, &s.num_ended, &s.parents,
                            &s.fork_tokens, &s.shown, &s.accepted, &s.committed_branches}) {
      *words = carver.Take<int32_t>(n);
    }
    for (OpStatus** statuses :
         {&s.close_statuses, &s.fork_statuses, &s.begin_statuses, &s.commit_statuses,
          &s.table_statuses, &s.csr_statuses, &s.slot_statuses}) {
      *statuses = carver.Take<OpStatus>(n);
    }
    s.fork_copies = carver.Take<BlockCopy>(n);
    s.copies = carver.Take<BlockCopy>(n * DecodeStep::kMaxBranches);
    s.slots = carver.Take<int64_t>(slots);
    s.range_slots = carver.Take<int64_t>(slots);
    s.table = carver.Take<int32_t>(names);
    s.indices = carver.Take<int32_t>(names);
    for (int32_t** words : {&s.table_lengths, &s.last_page_len, &s.indptr, &s.slot_indptr}) {
      *words = carver.Take<int32_t>(padded + 1);
    }
  }

  CacheDriver& d_;
  RunStandIn run_;
  DecodeStep step_;
  OwnedMemory memory_;
};

// The stand-ins of the CPU.
inline void RunStandInOnCpu(StreamRef, StandIn which, const DecodeStep& step,
                            const PageTableStorage& table) {
  const DecodeStandIn<CpuAtomics> stand_in(step, table);
  if (which == StandIn::kPlan) stand_in.Plan();
  for (int32_t i = 0; i < step.padded_rows; ++i) {
    if (which == StandIn::kVerify) stand_in.Verify(i);
    if (i >= step.num_rows) continue;
    if (which == StandIn::kAdopt) stand_in.Adopt(i);
    if (which == StandIn::kDraft) stand_in.Draft(i);
    if (which == StandIn::kFinish) stand_in.Finish(i);
  }
}

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_SUPPORT_DECODE_RUN_H_
