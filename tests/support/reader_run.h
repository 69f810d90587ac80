// SPDX-License-Identifier: Apache-2.0
//
// tests/support/reader_run.h
//
// A run of writer's steps beside readers (reader_step.h) on the cache of a backend: the arrays, one
// step's operations in order, and the checks at the end. The writer's own parts are given as a
// function that runs or enqueues them, so that a step can be captured in a graph.
//
// An epoch completes a step late, when all readers have read since: so two epochs are under way,
// and the writer seldom waits.

#ifndef KVPAGE_TESTS_SUPPORT_READER_RUN_H_
#define KVPAGE_TESTS_SUPPORT_READER_RUN_H_

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "kvpage/core/carver.h"
#include "tests/support/cache_driver.h"
#include "tests/support/reader_step.h"

namespace kvpage::test {

using RunWriterPart = void (*)(StreamRef, WriterPart, const ReaderStep&, const PageTableStorage&);

// Too few blocks for long rows with drafts: what is let go is soon used again, and drafts are
// refused now and then.
inline constexpr int32_t kReadRows = 12;
inline constexpr KvCacheOptions kReadOptions = {.num_blocks = 72,
                                                .block_tokens = ReaderStep::kBlockTokens,
                                                .max_sequences = kReadRows,
                                                .max_blocks_per_sequence = ReaderStep::kRowBlocks,
                                                .blocks_per_shard = 64,
                                                .max_draft_tokens = ReaderStep::kMaxTokens,
                                                .max_draft_branches = ReaderStep::kMaxBranches};

class ReaderRun {
 public:
  ReaderRun(CacheDriver& driver, int32_t num_readers, RunWriterPart run) : d_(driver), run_(run) {
    step_.num_rows = kReadRows;
    step_.num_readers = num_readers;
    Carver counting(nullptr);
    Carve(counting);
    memory_ = *OwnedMemory::Allocate(*d_.access().own, counting.bytes(), Carver::kAlignment);
    Carver carver(memory_.get());
    Carve(carver);
    d_.access().upload(memory_.get(), std::vector<char>(counting.bytes()).data(), counting.bytes());
    std::vector<int32_t> rows(kReadRows);
    std::iota(rows.begin(), rows.end(), 0);
    d_.access().upload(step_.rows, rows.data(), rows.size() * sizeof(rows[0]));
    d_.Write(step_.step, uint64_t{1});
    d_.Write(step_.begun, uint64_t{1});
  }

  const ReaderStep& step() const { return step_; }
  const PageTableStorage& table() { return d_.cache().table(); }

  // What all readers have announced: that they read nothing, or (0) that they have yet to begin.
  static constexpr uint64_t kNotReading = uint64_t{1} << 62;
  void SetEnded(uint64_t begun) {
    for (int32_t i = 0; i < step_.num_readers; ++i) d_.Write(&step_.ended[i], begun);
  }

  void EnqueueStep() {
    KvCache& cache = d_.cache();
    const StreamRef stream = d_.stream();
    const Fence fence{.epoch_word = step_.step};
    const KvTensor kv = {.data = step_.kv,
                         .block_stride = kReadOptions.block_tokens * sizeof(uint64_t),
                         .token_stride = sizeof(uint64_t),
                         .head_bytes = sizeof(uint64_t)};
    Run(WriterPart::kPlan);
    // Opens the rows that were closed.
    Ok(cache.Append(
        stream,
        {.batch = All(step_.open_statuses), .tokens = step_.zeros, .copies = step_.copies}));
    Ok(cache.BeginDraft(stream, {.batch = All(step_.begin_statuses),
                                 .tokens = step_.tokens,
                                 .branches = step_.branches,
                                 .slots = step_.slots,
                                 .slot_capacity = step_.num_slots(),
                                 .copies = step_.copies}));
    Ok(cache.CopyBlocks(stream, step_.copies, kReadRows * ReaderStep::kMaxBranches, {&kv, 1}));
    Run(WriterPart::kMark);
    Ok(cache.CommitDraft(stream, {.batch = All(step_.commit_statuses),
                                  .tokens = step_.accepted,
                                  .branches = step_.chosen,
                                  .fence = fence}));
    Run(WriterPart::kShorten);
    Ok(cache.Truncate(stream, {Some(step_.truncated, step_.num_truncated, step_.truncate_statuses),
                               step_.lengths, fence}));
    Ok(cache.Close(stream, {Some(step_.closed, step_.num_closed, step_.close_statuses), fence}));
    Run(WriterPart::kFinish);
    Run(WriterPart::kAwait);
    Ok(cache.SignalNext(stream, step_.signalled));
  }

  // After `steps` steps, and once all has come to rest.
  void Check(uint64_t steps) {
    EXPECT_EQ(d_.Read(step_.step), steps + 1);
    EXPECT_EQ(d_.Read(step_.signalled), steps);
    const auto counts = d_.Read(step_.counts, kNumReaderCounts);
    EXPECT_EQ(counts[kWrongMarks], 0u);
    EXPECT_EQ(counts[kWrongStatuses], 0u);
    EXPECT_EQ(counts[kGivenUp], 0u);
    EXPECT_GT(counts[kReadsChecked], 0u);
    EXPECT_GT(counts[kCommitted], steps);
    EXPECT_GT(counts[kShortened], steps / 4);
    testing::Test::RecordProperty("reads_checked", std::to_string(counts[kReadsChecked]));
    testing::Test::RecordProperty("marks_checked", std::to_string(counts[kMarksChecked]));
    testing::Test::RecordProperty("reads_repeated", std::to_string(counts[kReadsRepeated]));
    // Nothing waits any longer than its epoch.
    d_.Signal(steps);
    d_.Poll();
    const AuditReport report = d_.Audit();
    EXPECT_TRUE(report.ok());
    EXPECT_EQ(report.pending_blocks, 0u);
    EXPECT_EQ(report.outside_blocks, 0u);
    EXPECT_EQ(report.open_drafts, 0u);
  }

 private:
  static void Ok(const absl::Status& status) { EXPECT_TRUE(status.ok()) << status; }
  void Run(WriterPart part) { run_(d_.stream(), part, step_, d_.cache().table()); }
  RowBatch All(OpStatus* statuses) const {
    return {.rows = step_.rows, .num_rows = kReadRows, .statuses = statuses};
  }
  static RowBatch Some(const int32_t* rows, const int32_t* count, OpStatus* statuses) {
    return {.rows = rows, .num_rows = kReadRows, .statuses = statuses, .count = count};
  }

  void Carve(Carver& carver) {
    ReaderStep& s = step_;
    const size_t n = kReadRows;
    s.kv = carver.Take<uint64_t>((kReadOptions.num_blocks + 1) * kReadOptions.block_tokens);
    s.truth = carver.Take<uint64_t>(n * ReaderStep::kGenerations * ReaderStep::kRowTokens);
    for (uint64_t** word : {&s.step, &s.signalled, &s.begun}) *word = carver.Take<uint64_t>(1);
    s.ended = carver.Take<uint64_t>(static_cast<size_t>(s.num_readers));
    s.counts = carver.Take<uint64_t>(kNumReaderCounts);
    for (int32_t** words : {&s.rows, &s.zeros, &s.tokens, &s.branches, &s.chosen, &s.accepted,
                            &s.truncated, &s.lengths, &s.closed, &s.num_truncated, &s.num_closed}) {
      *words = carver.Take<int32_t>(n);
    }
    for (OpStatus** statuses : {&s.open_statuses, &s.begin_statuses, &s.commit_statuses,
                                &s.truncate_statuses, &s.close_statuses}) {
      *statuses = carver.Take<OpStatus>(n);
    }
    s.slots = carver.Take<int64_t>(static_cast<size_t>(s.num_slots()));
    s.copies = carver.Take<BlockCopy>(n * ReaderStep::kMaxBranches);
  }

  CacheDriver& d_;
  RunWriterPart run_;
  ReaderStep step_;
  OwnedMemory memory_;
};

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_SUPPORT_READER_RUN_H_
