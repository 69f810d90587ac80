// SPDX-License-Identifier: Apache-2.0
//
// The KvCache that runs every operation on the calling thread: the algorithms of kvpage/core with a
// group of one.

#include <cstring>
#include <memory>
#include <utility>

#include "absl/status/status.h"

#include "kvpage/core/append_rows.h"
#include "kvpage/core/audit.h"
#include "kvpage/core/begin_draft.h"
#include "kvpage/core/block_lists.h"
#include "kvpage/core/commit_draft.h"
#include "kvpage/core/compact_draft.h"
#include "kvpage/core/copy_blocks.h"
#include "kvpage/core/count_operation.h"
#include "kvpage/core/cpu_atomics.h"
#include "kvpage/core/export_csr.h"
#include "kvpage/core/export_slots.h"
#include "kvpage/core/export_table.h"
#include "kvpage/core/fork_rows.h"
#include "kvpage/core/move_tokens.h"
#include "kvpage/core/release_rows.h"
#include "kvpage/core/state_hash.h"
#include "kvpage/kv_cache.h"
#include "src/default_memory.h"

namespace kvpage {
namespace {

class CpuKvCache final : public KvCache {
 public:
  CpuKvCache(CacheState state, MemoryResource& memory_resource)
      : KvCache(std::move(state), memory_resource), pool_ref_(pool()), table_ref_(table()) {
    pool_ref_.Init(0, 1);
    table_ref_.Init(0, 1);
  }

 private:
  template <template <class, class> class Operation, class Batch>
  absl::Status RunRows(const Batch& batch) {
    ThreadGroup thread;
    Operation<CpuAtomics, ThreadGroup>(thread, pool_ref_, table_ref_, batch).Run();
    CountOperation(thread, pool_ref_, batch.batch.statuses, batch.batch.count,
                   batch.batch.num_rows);
    return absl::OkStatus();
  }

  absl::Status DoReserve(StreamRef, const ReserveBatch& batch) override {
    return RunRows<AppendRows>(batch);
  }
  absl::Status DoAppend(StreamRef, const AppendBatch& batch) override {
    return RunRows<AppendRows>(batch);
  }
  absl::Status DoTruncate(StreamRef, const TruncateBatch& batch) override {
    return RunRows<ReleaseRows>(batch);
  }
  absl::Status DoClose(StreamRef, const CloseBatch& batch) override {
    return RunRows<ReleaseRows>(batch);
  }
  absl::Status DoFork(StreamRef, const ForkBatch& batch) override {
    return RunRows<ForkRows>(batch);
  }
  absl::Status DoBeginDraft(StreamRef, const BeginDraftBatch& batch) override {
    return RunRows<kvpage::BeginDraft>(batch);
  }
  absl::Status DoCommitDraft(StreamRef, const CommitDraftBatch& batch) override {
    return RunRows<kvpage::CommitDraft>(batch);
  }
  absl::Status DoAbortDraft(StreamRef, const AbortDraftBatch& batch) override {
    return RunRows<kvpage::CommitDraft>(batch);
  }
  absl::Status DoCompactDraft(StreamRef, const CompactDraftBatch& batch) override {
    return RunRows<kvpage::CompactDraft>(batch);
  }
  absl::Status DoExportTable(StreamRef, const ExportTableBatch& batch) override {
    ThreadGroup thread;
    kvpage::ExportTable<CpuAtomics, ThreadGroup>(thread, table_ref_, batch).Run(0, 1);
    return absl::OkStatus();
  }
  absl::Status DoExportSlots(StreamRef, const ExportSlotsBatch& batch) override {
    ThreadGroup thread;
    const kvpage::ExportSlots<CpuAtomics, ThreadGroup> slots(thread, table_ref_, batch);
    slots.Scan();
    slots.Write(0, 1);
    return absl::OkStatus();
  }
  absl::Status DoExportCsr(StreamRef, const ExportCsrBatch& batch) override {
    ThreadGroup thread;
    const kvpage::ExportCsr<CpuAtomics> csr(table_ref_, batch);
    csr.Scan(thread);
    csr.Fill(0, 1);
    return absl::OkStatus();
  }
  absl::Status DoSignal(StreamRef, uint64_t epoch) override {
    pool_ref_.pending().Complete(epoch);
    return absl::OkStatus();
  }
  absl::Status DoSignalNext(StreamRef stream, uint64_t* epoch_word) override {
    ThreadGroup thread;
    pool_ref_.pending().CompleteNext(thread, epoch_word);
    return DoPoll(stream);
  }
  absl::Status DoPoll(StreamRef) override {
    ThreadGroup thread;
    pool_ref_.Drain(thread);
    CountOperation(thread, pool_ref_, nullptr, nullptr, 0);
    return absl::OkStatus();
  }
  absl::Status DoShare(StreamRef, const BlockListBatch& batch) override {
    ThreadGroup thread;
    BlockLists<CpuAtomics, ThreadGroup>(thread, pool_ref_, batch).Share();
    CountOperation(thread, pool_ref_, batch.statuses, batch.count, batch.num_ids);
    return absl::OkStatus();
  }
  absl::Status DoRelease(StreamRef, const BlockListBatch& batch) override {
    ThreadGroup thread;
    BlockLists<CpuAtomics, ThreadGroup>(thread, pool_ref_, batch).Release();
    CountOperation(thread, pool_ref_, batch.statuses, batch.count, batch.num_ids);
    return absl::OkStatus();
  }

  absl::Status DoCopyBlocks(StreamRef, const BlockCopy* copies, int32_t num_copies,
                            const KvTensor& tensor) override {
    const int64_t unit = CopyUnitBytes(tensor);
    for (int32_t i = 0; i < num_copies; ++i) {
      if (unit == 16) {
        CopyBlock<Bytes16>(tensor, copies[i], 0, 1);
      } else if (unit >= 4) {
        CopyBlock<uint32_t>(tensor, copies[i], 0, 1);
      } else {
        CopyBlock<uint8_t>(tensor, copies[i], 0, 1);
      }
    }
    return absl::OkStatus();
  }

  absl::Status DoMoveTokens(StreamRef, const TokenMove* moves, int32_t num_rows,
                            const KvTensor& tensor) override {
    const uint32_t per_row = table().max_draft_tokens;
    const int64_t unit = CopyUnitBytes(tensor);
    for (int32_t i = 0; i < num_rows; ++i, moves += per_row) {
      if (unit == 16) {
        MoveTokensOfRow<Bytes16>(tensor, table().block_tokens, moves, per_row, 0, 1);
      } else if (unit >= 4) {
        MoveTokensOfRow<uint32_t>(tensor, table().block_tokens, moves, per_row, 0, 1);
      } else {
        MoveTokensOfRow<uint8_t>(tensor, table().block_tokens, moves, per_row, 0, 1);
      }
    }
    return absl::OkStatus();
  }

  absl::Status DoAudit(StreamRef, AuditReport* report, uint32_t* workspace) override {
    const kvpage::Audit<CpuAtomics> audit(pool_ref_, table_ref_, report, workspace);
    audit.Clear(0, 1);
    audit.Count(0, 1);
    audit.Check(0, 1);
    return absl::OkStatus();
  }
  absl::Status DoStateHash(StreamRef, uint64_t* hash) override {
    *hash = 0;
    AddStateHash(pool_ref_, table_ref_, 0, 1, hash);
    return absl::OkStatus();
  }

  absl::Status DoSynchronize(StreamRef) override { return absl::OkStatus(); }
  absl::Status DoDownload(StreamRef, void* to, const void* from, size_t bytes) override {
    std::memcpy(to, from, bytes);
    return absl::OkStatus();
  }

  BlockPoolRef<CpuAtomics> pool_ref_;
  PageTableRef<CpuAtomics> table_ref_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<KvCache>> CreateCpuKvCache(const KvCacheOptions& options) {
  MemoryResource& resource =
      options.memory_resource != nullptr ? *options.memory_resource : DefaultHostMemory();
  absl::StatusOr<CacheState> state = CacheState::Create(options, resource, DefaultHostMemory());
  if (!state.ok()) return state.status();
  return std::make_unique<CpuKvCache>(*std::move(state), resource);
}

}  // namespace kvpage
