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

constexpr uint64_t kYoungestEpoch = ~uint64_t{0} - 1;

absl::Status CheckFence(const Fence& fence, const BlockPoolStorage& pool) {
  absl::Status status =
      Check((fence.epoch == 0 && fence.epoch_word == nullptr) || pool.pending.num_sets > 0,
            "a fence needs a pool with pending sets");
  status.Update(Check(fence.epoch <= kYoungestEpoch, "an epoch of a fence is below 2^64 - 1"));
  return status;
}

// Of a batch on drafts.
absl::Status CheckDrafts(const RowBatch& batch, const PageTableStorage& table, bool has_arguments) {
  absl::Status status =
      Check(table.max_draft_tokens > 0, "drafts need options with max_draft_tokens above 0");
  status.Update(CheckRows(batch, table.max_sequences, has_arguments));
  return status;
}

absl::Status CheckSlots(const int64_t* slots, int64_t slot_capacity) {
  return Check(slot_capacity >= 0 && (slots != nullptr || slot_capacity == 0),
               "slot_capacity needs slots");
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
          .gate_words = gate_words,
          .pending_sets = pending_sets};
}

PageTableOptions KvCacheOptions::table() const {
  return {.max_sequences = max_sequences,
          .max_blocks_per_sequence = max_blocks_per_sequence,
          .block_tokens = block_tokens,
          .sequence_words = sequence_words,
          .max_draft_tokens = max_draft_tokens,
          .max_draft_branches = max_draft_branches};
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
  status.Update(CheckSlots(batch.slots, batch.slot_capacity));
  status.Update(CheckFence(batch.fence, pool()));
  if (!status.ok()) return status;
  if (batch.batch.num_rows == 0 && batch.slot_capacity == 0) return status;
  return DoAppend(stream, batch);
}

absl::Status KvCache::Truncate(StreamRef stream, const TruncateBatch& batch) {
  absl::Status status = CheckRows(batch.batch, table().max_sequences, batch.tokens != nullptr);
  status.Update(CheckFence(batch.fence, pool()));
  if (!status.ok() || batch.batch.num_rows == 0) return status;
  return DoTruncate(stream, batch);
}

absl::Status KvCache::Close(StreamRef stream, const CloseBatch& batch) {
  absl::Status status = CheckRows(batch.batch, table().max_sequences, true);
  status.Update(CheckFence(batch.fence, pool()));
  if (!status.ok() || batch.batch.num_rows == 0) return status;
  return DoClose(stream, batch);
}

absl::Status KvCache::Fork(StreamRef stream, const ForkBatch& batch) {
  absl::Status status = CheckRows(batch.batch, table().max_sequences,
                                  batch.parents != nullptr && batch.tokens != nullptr);
  if (!status.ok() || batch.batch.num_rows == 0) return status;
  return DoFork(stream, batch);
}

absl::Status KvCache::BeginDraft(StreamRef stream, const BeginDraftBatch& batch) {
  absl::Status status = CheckDrafts(batch.batch, table(), batch.tokens != nullptr);
  status.Update(CheckSlots(batch.slots, batch.slot_capacity));
  if (!status.ok()) return status;
  if (batch.batch.num_rows == 0 && batch.slot_capacity == 0) return status;
  return DoBeginDraft(stream, batch);
}

absl::Status KvCache::CommitDraft(StreamRef stream, const CommitDraftBatch& batch) {
  absl::Status status = CheckDrafts(batch.batch, table(), batch.tokens != nullptr);
  status.Update(CheckFence(batch.fence, pool()));
  if (!status.ok() || batch.batch.num_rows == 0) return status;
  return DoCommitDraft(stream, batch);
}

absl::Status KvCache::AbortDraft(StreamRef stream, const AbortDraftBatch& batch) {
  absl::Status status = CheckDrafts(batch.batch, table(), true);
  status.Update(CheckFence(batch.fence, pool()));
  if (!status.ok() || batch.batch.num_rows == 0) return status;
  return DoAbortDraft(stream, batch);
}

absl::Status KvCache::CompactDraft(StreamRef stream, const CompactDraftBatch& batch) {
  absl::Status status =
      CheckDrafts(batch.batch, table(),
                  batch.tokens != nullptr && batch.leaves != nullptr && batch.moves != nullptr);
  if (!status.ok() || batch.batch.num_rows == 0) return status;
  return DoCompactDraft(stream, batch);
}

absl::Status KvCache::MoveTokens(StreamRef stream, const TokenMove* moves, int32_t num_rows,
                                 absl::Span<const KvTensor> tensors) {
  absl::Status status = Check(num_rows >= 0 && (moves != nullptr || num_rows == 0),
                              "a move list with entries needs moves");
  for (const KvTensor& tensor : tensors) status.Update(CheckTensor(tensor));
  status.Update(
      Check(table().max_draft_tokens > 0, "drafts need options with max_draft_tokens above 0"));
  if (num_rows == 0) return status;
  for (const KvTensor& tensor : tensors) {
    if (status.ok()) status = DoMoveTokens(stream, moves, num_rows, tensor);
  }
  return status;
}

absl::Status KvCache::Signal(StreamRef stream, uint64_t epoch) {
  absl::Status status = CheckFence({.epoch = 1}, pool());
  status.Update(Check(epoch > 0 && epoch <= kYoungestEpoch, "epochs are numbered upwards from 1"));
  if (!status.ok()) return status;
  return DoSignal(stream, epoch);
}

absl::Status KvCache::SignalNext(StreamRef stream, uint64_t* epoch_word) {
  absl::Status status = CheckFence({.epoch = 1}, pool());
  status.Update(Check(epoch_word != nullptr, "SignalNext needs a word with the epoch"));
  if (!status.ok()) return status;
  return DoSignalNext(stream, epoch_word);
}

absl::Status KvCache::Poll(StreamRef stream) { return DoPoll(stream); }

absl::Status KvCache::Share(StreamRef stream, const BlockListBatch& batch) {
  absl::Status status = CheckList(batch);
  if (!status.ok() || batch.num_ids == 0) return status;
  return DoShare(stream, batch);
}

absl::Status KvCache::Release(StreamRef stream, const BlockListBatch& batch) {
  absl::Status status = CheckList(batch);
  status.Update(CheckFence(batch.fence, pool()));
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
