// SPDX-License-Identifier: Apache-2.0
//
// The exports of a KvCache: their arguments checked, and the defaults in them replaced.

#include <cstdint>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include "kvpage/kv_cache.h"

namespace kvpage {
namespace {

absl::Status Check(bool good, const char* what) {
  return good ? absl::OkStatus() : absl::InvalidArgumentError(absl::StrCat("kvpage: ", what));
}

// The default of padded_rows is replaced before.
absl::Status CheckRows(const RowBatch& batch, int32_t padded_rows, bool has_arguments) {
  absl::Status status = Check(batch.num_rows >= 0 && padded_rows >= batch.num_rows,
                              "an export has 0 to padded_rows rows");
  status.Update(Check(
      batch.num_rows == 0 || (batch.rows != nullptr && batch.statuses != nullptr && has_arguments),
      "an export with rows needs rows, statuses and an argument for each row"));
  status.Update(Check(batch.failure == FailureMode::kPerRow, "an export is not all or none"));
  return status;
}

absl::Status CheckNaming(const BlockNaming& naming, uint32_t num_blocks, uint32_t block_tokens) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  absl::Status status = Check(
      naming.kernel_blocks > 0 && block_tokens % static_cast<uint32_t>(naming.kernel_blocks) == 0,
      "kernel_blocks must divide block_tokens");
  status.Update(Check(naming.id_offset >= -1 && naming.scale > 0,
                      "id_offset is at least -1, and scale at least 1"));
  if (!status.ok()) return status;
  // One step at a time, so that none goes beyond 64 bits.
  const int64_t last = (int64_t{num_blocks} + naming.id_offset + 1) * naming.kernel_blocks - 1;
  return Check(
      last <= kMost && last * naming.scale <= kMost && last * naming.scale + naming.offset <= kMost,
      "the name of a block must fit 32 bits");
}

absl::Status CheckShare(const TokenShare& share, uint32_t block_tokens) {
  return Check(share.world > 0 && share.rank >= 0 && share.rank < share.world &&
                   share.interleave > 0 &&
                   block_tokens % (uint64_t{static_cast<uint32_t>(share.world)} *
                                   static_cast<uint32_t>(share.interleave)) ==
                       0,
               "a share has a rank below world, and world * interleave divides block_tokens");
}

template <class Batch>
Batch WithoutDefaults(Batch batch) {
  if (batch.padded_rows == 0) batch.padded_rows = batch.batch.num_rows;
  return batch;
}

}  // namespace

absl::Status KvCache::ExportTable(StreamRef stream, const ExportTableBatch& given) {
  ExportTableBatch batch = WithoutDefaults(given);
  if (batch.line_stride == 0) batch.line_stride = batch.width;
  absl::Status status = CheckRows(batch.batch, batch.padded_rows, true);
  status.Update(CheckNaming(batch.naming, pool().num_blocks(), table().block_tokens));
  status.Update(Check(batch.width > 0 && batch.line_stride >= batch.width,
                      "a table has a width, and lines at least as far apart"));
  status.Update(Check(batch.padded_rows == 0 || batch.table != nullptr,
                      "an export with lines needs a table"));
  if (!status.ok() || batch.padded_rows == 0) return status;
  return DoExportTable(stream, batch);
}

absl::Status KvCache::ExportSlots(StreamRef stream, const ExportSlotsBatch& given) {
  const ExportSlotsBatch batch = WithoutDefaults(given);
  absl::Status status = CheckRows(batch.batch, batch.padded_rows, batch.tokens != nullptr);
  status.Update(CheckShare(batch.share, table().block_tokens));
  status.Update(Check(batch.id_offset >= -1, "id_offset is at least -1"));
  status.Update(Check(batch.slot_indptr != nullptr, "ExportSlots needs slot_indptr"));
  status.Update(Check(batch.slot_capacity >= 0 &&
                          batch.slot_capacity <= std::numeric_limits<int32_t>::max() &&
                          (batch.slots != nullptr || batch.slot_capacity == 0),
                      "slot_capacity is below 2^31 and needs slots"));
  if (!status.ok()) return status;
  return DoExportSlots(stream, batch);
}

absl::Status KvCache::ExportCsr(StreamRef stream, const ExportCsrBatch& given) {
  const ExportCsrBatch batch = WithoutDefaults(given);
  absl::Status status = CheckRows(batch.batch, batch.padded_rows, true);
  status.Update(CheckNaming(batch.naming, pool().num_blocks(), table().block_tokens));
  status.Update(Check(batch.indptr != nullptr, "ExportCsr needs indptr"));
  status.Update(Check(batch.padded_rows == 0 || batch.last_page_len != nullptr,
                      "an export with rows needs last_page_len"));
  status.Update(
      Check(batch.index_capacity >= 0 && (batch.indices != nullptr || batch.index_capacity == 0),
            "index_capacity needs indices"));
  if (!status.ok()) return status;
  return DoExportCsr(stream, batch);
}

}  // namespace kvpage
