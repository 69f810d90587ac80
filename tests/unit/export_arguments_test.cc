// SPDX-License-Identifier: Apache-2.0
//
// Arguments of the exports that are refused on the host, one thing wrong at a time.

#include <gtest/gtest.h>

#include <memory>

#include "kvpage/kv_cache.h"

namespace kvpage {
namespace {

class ExportArguments : public testing::Test {
 protected:
  ExportArguments()
      : cache_(*CreateCpuKvCache({.num_blocks = 100,
                                  .block_tokens = 8,
                                  .max_sequences = 2,
                                  .max_blocks_per_sequence = 8})) {}

  RowBatch Rows() { return {.rows = rows_, .num_rows = 2, .statuses = statuses_}; }
  ExportTableBatch Table() { return {.batch = Rows(), .table = words_, .width = 4}; }
  ExportSlotsBatch Slots() {
    return {.batch = Rows(),
            .tokens = tokens_,
            .slots = slots_,
            .slot_capacity = 4,
            .slot_indptr = words_};
  }
  ExportCsrBatch Csr() {
    return {.batch = Rows(),
            .indptr = words_,
            .indices = words_ + 8,
            .index_capacity = 8,
            .last_page_len = words_ + 16};
  }

  absl::Status Run(const ExportTableBatch& batch) {
    return cache_->ExportTable(StreamRef::Default(), batch);
  }
  absl::Status Run(const ExportSlotsBatch& batch) {
    return cache_->ExportSlots(StreamRef::Default(), batch);
  }
  absl::Status Run(const ExportCsrBatch& batch) {
    return cache_->ExportCsr(StreamRef::Default(), batch);
  }

  template <class Batch, class Spoil>
  void ExpectRefused(Batch batch, Spoil spoil) {
    EXPECT_TRUE(Run(batch).ok());
    spoil(batch);
    EXPECT_EQ(Run(batch).code(), absl::StatusCode::kInvalidArgument);
  }
  template <class Batch>
  void ExpectRowsChecked(const Batch& good) {
    ExpectRefused(good, [](Batch& b) { b.batch.num_rows = -1; });
    ExpectRefused(good, [](Batch& b) { b.padded_rows = 1; });
    ExpectRefused(good, [](Batch& b) { b.padded_rows = -1; });
    ExpectRefused(good, [](Batch& b) { b.batch.rows = nullptr; });
    ExpectRefused(good, [](Batch& b) { b.batch.statuses = nullptr; });
    ExpectRefused(good, [](Batch& b) { b.batch.failure = FailureMode::kWholeBatch; });
  }
  template <class Batch>
  void ExpectNamingChecked(const Batch& good) {
    ExpectRefused(good, [](Batch& b) { b.naming.kernel_blocks = 0; });
    ExpectRefused(good, [](Batch& b) { b.naming.kernel_blocks = 3; });
    ExpectRefused(good, [](Batch& b) { b.naming.kernel_blocks = 16; });
    ExpectRefused(good, [](Batch& b) { b.naming.id_offset = -2; });
    ExpectRefused(good, [](Batch& b) { b.naming.id_offset = 0x7fffffff; });
    ExpectRefused(good, [](Batch& b) { b.naming.scale = 0; });
    ExpectRefused(good, [](Batch& b) { b.naming.offset = 0x7fffffff; });
    ExpectRefused(good, [](Batch& b) {
      b.naming.kernel_blocks = 8;
      b.naming.scale = 0x7fffffff;
    });
  }

  std::unique_ptr<KvCache> cache_;
  int32_t rows_[2] = {0, 1};
  int32_t tokens_[2] = {0, 0};
  OpStatus statuses_[2];
  int32_t words_[32];
  int64_t slots_[4];
};

TEST_F(ExportArguments, OfATable) {
  using Batch = ExportTableBatch;
  ExpectRowsChecked(Table());
  ExpectNamingChecked(Table());
  ExpectRefused(Table(), [](Batch& b) { b.table = nullptr; });
  ExpectRefused(Table(), [](Batch& b) { b.width = 0; });
  ExpectRefused(Table(), [](Batch& b) { b.line_stride = 3; });
}

TEST_F(ExportArguments, OfSlots) {
  using Batch = ExportSlotsBatch;
  ExpectRowsChecked(Slots());
  ExpectRefused(Slots(), [](Batch& b) { b.tokens = nullptr; });
  ExpectRefused(Slots(), [](Batch& b) { b.slots = nullptr; });
  ExpectRefused(Slots(), [](Batch& b) { b.slot_indptr = nullptr; });
  ExpectRefused(Slots(), [](Batch& b) { b.slot_capacity = -1; });
  ExpectRefused(Slots(), [](Batch& b) { b.slot_capacity = int64_t{1} << 31; });
  ExpectRefused(Slots(), [](Batch& b) { b.id_offset = -2; });
  ExpectRefused(Slots(), [](Batch& b) { b.share.world = 0; });
  ExpectRefused(Slots(), [](Batch& b) { b.share.world = 3; });
  ExpectRefused(Slots(), [](Batch& b) { b.share.rank = 1; });
  ExpectRefused(Slots(), [](Batch& b) { b.share.rank = -1; });
  ExpectRefused(Slots(), [](Batch& b) { b.share.interleave = 0; });
  ExpectRefused(Slots(), [](Batch& b) { b.share = {.world = 4, .rank = 0, .interleave = 4}; });
}

TEST_F(ExportArguments, OfCompressedRows) {
  using Batch = ExportCsrBatch;
  ExpectRowsChecked(Csr());
  ExpectNamingChecked(Csr());
  ExpectRefused(Csr(), [](Batch& b) { b.indptr = nullptr; });
  ExpectRefused(Csr(), [](Batch& b) { b.indices = nullptr; });
  ExpectRefused(Csr(), [](Batch& b) { b.index_capacity = -1; });
  ExpectRefused(Csr(), [](Batch& b) { b.last_page_len = nullptr; });
}

TEST_F(ExportArguments, NoRowsAreFine) {
  ExportTableBatch table = Table();
  table.batch = {};
  EXPECT_TRUE(Run(table).ok());
  ExportCsrBatch csr = Csr();
  csr.batch = {};
  words_[0] = -1;
  EXPECT_TRUE(Run(csr).ok());
  EXPECT_EQ(words_[0], 0);
  ExportSlotsBatch slots = Slots();
  slots.batch = {};
  EXPECT_TRUE(Run(slots).ok());
  EXPECT_EQ(slots_[3], -1);
}

}  // namespace
}  // namespace kvpage
