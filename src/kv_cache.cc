// SPDX-License-Identifier: Apache-2.0

#include "kvpage/kv_cache.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include "kvpage/owned_memory.h"

namespace kvpage {
namespace {

absl::Status Check(bool good, const char* what) {
  return good ? absl::OkStatus() : absl::InvalidArgumentError(absl::StrCat("kvpage: ", what));
}

absl::Status CheckRows(const RowBatch& batch, uint32_t max_sequences, bool has_arguments) {
  if (batch.num_rows < 0 || static_cast<uint32_t>(batch.num_rows) > max_sequences) {
    return absl::InvalidArgumentError(
        absl::StrCat("kvpage: a batch has 0 to ", max_sequences, " rows, not ", batch.num_rows));
  }
  return Check(
      batch.num_rows == 0 || (batch.rows != nullptr && batch.statuses != nullptr && has_arguments),
      "a batch with rows needs rows, statuses and an argument for each row");
}

absl::Status CheckList(const BlockListBatch& list) {
  return Check(
      list.num_ids == 0 || (list.num_ids > 0 && list.ids != nullptr && list.statuses != nullptr),
      "a list with entries needs ids and statuses");
}

absl::Status CheckTensor(const KvTensor& t) {
  return Check(t.data != nullptr && t.num_layers > 0 && t.num_heads > 0 && t.head_bytes > 0,
               "a KV tensor needs data and at least one layer, head and byte");
}

}  // namespace

BlockPoolOptions KvCacheOptions::pool() const {
  return {.num_blocks = num_blocks,
          .blocks_per_shard = blocks_per_shard,
          .block_words = block_words,
          .gate_words = gate_words};
}

PageTableOptions KvCacheOptions::table() const {
  return {.max_sequences = max_sequences,
          .max_blocks_per_sequence = max_blocks_per_sequence,
          .block_tokens = block_tokens,
          .sequence_words = sequence_words};
}

KvCache::~KvCache() = default;

KvCache::KvCache(CacheState state, MemoryResource& memory_resource)
    : state_(std::move(state)), memory_resource_(memory_resource) {}

absl::StatusOr<size_t> KvCache::RequiredBytes(const KvCacheOptions& options) {
  return CacheState::RequiredBytes(options);
}

absl::Status KvCache::Reserve(StreamRef stream, const ReserveBatch& batch) {
  absl::Status status = CheckRows(batch.batch, table().max_sequences, batch.tokens != nullptr);
  if (!status.ok() || batch.batch.num_rows == 0) return status;
  return DoReserve(stream, batch);
}

absl::Status KvCache::Append(StreamRef stream, const AppendBatch& batch) {
  absl::Status status = CheckRows(batch.batch, table().max_sequences, batch.tokens != nullptr);
  if (status.ok()) {
    status = Check(batch.slot_capacity >= 0 && (batch.slots != nullptr || batch.slot_capacity == 0),
                   "slot_capacity needs slots");
  }
  if (!status.ok()) return status;
  if (batch.batch.num_rows == 0 && batch.slot_capacity == 0) return status;
  return DoAppend(stream, batch);
}

absl::Status KvCache::Truncate(StreamRef stream, const TruncateBatch& batch) {
  absl::Status status = CheckRows(batch.batch, table().max_sequences, batch.tokens != nullptr);
  if (!status.ok() || batch.batch.num_rows == 0) return status;
  return DoTruncate(stream, batch);
}

absl::Status KvCache::Close(StreamRef stream, const CloseBatch& batch) {
  absl::Status status = CheckRows(batch.batch, table().max_sequences, true);
  if (!status.ok() || batch.batch.num_rows == 0) return status;
  return DoClose(stream, batch);
}

absl::Status KvCache::Fork(StreamRef stream, const ForkBatch& batch) {
  absl::Status status = CheckRows(batch.batch, table().max_sequences,
                                  batch.parents != nullptr && batch.tokens != nullptr);
  if (!status.ok() || batch.batch.num_rows == 0) return status;
  return DoFork(stream, batch);
}

absl::Status KvCache::Share(StreamRef stream, const BlockListBatch& batch) {
  absl::Status status = CheckList(batch);
  if (!status.ok() || batch.num_ids == 0) return status;
  return DoShare(stream, batch);
}

absl::Status KvCache::Release(StreamRef stream, const BlockListBatch& batch) {
  absl::Status status = CheckList(batch);
  if (!status.ok() || batch.num_ids == 0) return status;
  return DoRelease(stream, batch);
}

absl::Status KvCache::CopyBlocks(StreamRef stream, const BlockCopy* copies, int32_t num_copies,
                                 absl::Span<const KvTensor> tensors) {
  absl::Status status = Check(num_copies >= 0 && (copies != nullptr || num_copies == 0),
                              "a copy list with entries needs copies");
  for (const KvTensor& tensor : tensors) {
    if (status.ok()) status = CheckTensor(tensor);
  }
  if (num_copies == 0) return status;
  for (const KvTensor& tensor : tensors) {
    if (status.ok()) status = DoCopyBlocks(stream, copies, num_copies, tensor);
  }
  return status;
}

absl::Status KvCache::Audit(StreamRef stream, AuditReport* report, absl::Span<uint32_t> workspace) {
  absl::Status status = Check(report != nullptr && workspace.size() >= pool().num_blocks(),
                              "an audit needs a report and one word of workspace per block");
  if (!status.ok()) return status;
  return DoAudit(stream, report, workspace.data());
}

absl::Status KvCache::StateHash(StreamRef stream, uint64_t* hash) {
  absl::Status status = Check(hash != nullptr, "StateHash needs a place for the hash");
  if (!status.ok()) return status;
  return DoStateHash(stream, hash);
}

absl::Status KvCache::Synchronize(StreamRef stream) { return DoSynchronize(stream); }

absl::StatusOr<AuditReport> KvCache::AuditNow(StreamRef stream) {
  const size_t words = pool().num_blocks();
  absl::StatusOr<OwnedMemory> workspace =
      OwnedMemory::Allocate(memory_resource_, words * sizeof(uint32_t), Carver::kAlignment);
  if (!workspace.ok()) return workspace.status();
  absl::StatusOr<OwnedMemory> report =
      OwnedMemory::Allocate(memory_resource_, sizeof(AuditReport), Carver::kAlignment);
  if (!report.ok()) return report.status();
  auto* const device_report = static_cast<AuditReport*>(report->get());
  AuditReport result;
  absl::Status status =
      Audit(stream, device_report, absl::MakeSpan(static_cast<uint32_t*>(workspace->get()), words));
  if (status.ok()) status = DoDownload(stream, &result, device_report, sizeof(result));
  // Also after a failure: nothing enqueued may outlive the workspace.
  status.Update(Synchronize(stream));
  if (!status.ok()) return status;
  return result;
}

absl::StatusOr<uint64_t> KvCache::StateHashNow(StreamRef stream) {
  absl::StatusOr<OwnedMemory> hash =
      OwnedMemory::Allocate(memory_resource_, sizeof(uint64_t), Carver::kAlignment);
  if (!hash.ok()) return hash.status();
  auto* const device_hash = static_cast<uint64_t*>(hash->get());
  uint64_t result = 0;
  absl::Status status = StateHash(stream, device_hash);
  if (status.ok()) status = DoDownload(stream, &result, device_hash, sizeof(result));
  status.Update(Synchronize(stream));
  if (!status.ok()) return status;
  return result;
}

}  // namespace kvpage
