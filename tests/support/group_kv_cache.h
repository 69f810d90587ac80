// SPDX-License-Identifier: Apache-2.0
//
// tests/support/group_kv_cache.h
//
// A KvCache in host memory whose batch operations are run by a group of any kind: the algorithms of
// kvpage/core, as a GPU runs them, without a GPU. The runner decides what the lanes are:
//   Atomics                          its atomics policy
//   absl::Status Run(body)           runs body(group) in every lane of one group
// Audit, hash and copies have no collective calls, so they run on the calling thread.

#ifndef KVPAGE_TESTS_SUPPORT_GROUP_KV_CACHE_H_
#define KVPAGE_TESTS_SUPPORT_GROUP_KV_CACHE_H_

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
#include "kvpage/core/export_csr.h"
#include "kvpage/core/export_slots.h"
#include "kvpage/core/export_table.h"
#include "kvpage/core/fork_rows.h"
#include "kvpage/core/fork_step.h"
#include "kvpage/core/move_tokens.h"
#include "kvpage/core/release_rows.h"
#include "kvpage/core/release_step.h"
#include "kvpage/core/state_hash.h"
#include "kvpage/kv_cache.h"

namespace kvpage::test {

template <class Runner>
class GroupKvCache final : public KvCache {
  using A = typename Runner::Atomics;

 public:
  static absl::StatusOr<std::unique_ptr<KvCache>> Create(const KvCacheOptions& options,
                                                         const Runner& runner = {}) {
    static HostMemoryResource memory;
    absl::StatusOr<CacheState> state = CacheState::Create(options, memory, memory);
    if (!state.ok()) return state.status();
    return std::make_unique<GroupKvCache>(*std::move(state), memory, runner);
  }

  GroupKvCache(CacheState state, MemoryResource& memory, const Runner& runner)
      : KvCache(std::move(state), memory), pool_ref_(pool()), table_ref_(table()), runner_(runner) {
    pool_ref_.Init(0, 1);
    table_ref_.Init(0, 1);
  }

 private:
  template <template <class, class> class Operation, class Batch>
  absl::Status RunRows(const Batch& batch) {
    return runner_.Run([&]<class G>(G& group) {
      Operation<A, G>(group, pool_ref_, table_ref_, batch).Run();
      Count(group, batch.batch);
    });
  }

  // The short way if it applies, as on a GPU.
  template <template <class, class> class Operation, class Batch, class Step>
  absl::Status RunRows(const Batch& batch, Step try_step) {
    return runner_.Run([&]<class G>(G& group) {
      if (!try_step(group)) {
        group.Sync();
        Operation<A, G>(group, pool_ref_, table_ref_, batch).Run();
      }
      Count(group, batch.batch);
    });
  }
  template <template <class, class> class Operation, class Batch>
  absl::Status RunGrow(const Batch& batch) {
    return RunRows<Operation>(batch, [&]<class G>(G& group) {
      using Step = typename Operation<A, G>::Step;
      return Step(group, pool_ref_, table_ref_, pool(), batch).Try();
    });
  }
  template <class Batch>
  absl::Status RunRelease(const Batch& batch) {
    return RunRows<ReleaseRows>(batch, [&]<class G>(G& group) {
      return ReleaseStep<A, G>(group, pool_ref_, table_ref_, batch).Try();
    });
  }

  template <class G>
  void Count(G& group, const RowBatch& batch) const {
    CountOperation(group, pool_ref_, batch.statuses, batch.count, batch.num_rows);
  }

  absl::Status DoReserve(StreamRef, const ReserveBatch& batch) override {
    return RunGrow<AppendRows>(batch);
  }
  absl::Status DoAppend(StreamRef, const AppendBatch& batch) override {
    return RunGrow<AppendRows>(batch);
  }
  absl::Status DoTruncate(StreamRef, const TruncateBatch& batch) override {
    return RunRelease(batch);
  }
  absl::Status DoClose(StreamRef, const CloseBatch& batch) override { return RunRelease(batch); }
  absl::Status DoFork(StreamRef, const ForkBatch& batch) override {
    return RunRows<ForkRows>(batch, [&]<class G>(G& group) {
      return ForkStep<A, G>(group, pool_ref_, table_ref_, batch).Try();
    });
  }
  absl::Status DoBeginDraft(StreamRef, const BeginDraftBatch& batch) override {
    return RunGrow<kvpage::BeginDraft>(batch);
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
  // By two groups after one another, who must share the rows out completely.
  absl::Status DoExportTable(StreamRef, const ExportTableBatch& batch) override {
    return RunTwice([&]<class G>(G& group, uint32_t index) {
      kvpage::ExportTable<A, G>(group, table_ref_, batch).Run(index, 2);
    });
  }
  absl::Status DoExportSlots(StreamRef, const ExportSlotsBatch& batch) override {
    absl::Status status = runner_.Run(
        [&]<class G>(G& group) { kvpage::ExportSlots<A, G>(group, table_ref_, batch).Scan(); });
    status.Update(RunTwice([&]<class G>(G& group, uint32_t index) {
      kvpage::ExportSlots<A, G>(group, table_ref_, batch).Write(index, 2);
    }));
    return status;
  }
  absl::Status DoExportCsr(StreamRef, const ExportCsrBatch& batch) override {
    const kvpage::ExportCsr<A> csr(table_ref_, batch);
    absl::Status status = runner_.Run([&]<class G>(G& group) { csr.Scan(group); });
    for (uint64_t worker : {2, 0, 1}) csr.Fill(worker, 3);
    return status;
  }
  template <class Body>
  absl::Status RunTwice(Body body) {
    absl::Status status;
    for (uint32_t index : {1, 0}) {
      status.Update(runner_.Run([&]<class G>(G& group) { body(group, index); }));
    }
    return status;
  }

  absl::Status DoSignal(StreamRef, uint64_t epoch) override {
    pool_ref_.pending().Complete(epoch);
    return absl::OkStatus();
  }
  absl::Status DoSignalNext(StreamRef, uint64_t* epoch_word) override {
    return runner_.Run([&]<class G>(G& group) {
      pool_ref_.pending().CompleteNext(group, epoch_word);
      pool_ref_.Drain(group);
      CountOperation(group, pool_ref_, nullptr, nullptr, 0);
    });
  }
  absl::Status DoPoll(StreamRef) override {
    return runner_.Run([&]<class G>(G& group) {
      pool_ref_.Drain(group);
      CountOperation(group, pool_ref_, nullptr, nullptr, 0);
    });
  }
  absl::Status DoShare(StreamRef, const BlockListBatch& batch) override {
    return runner_.Run([&]<class G>(G& group) {
      BlockLists<A, G>(group, pool_ref_, batch).Share();
      CountOperation(group, pool_ref_, batch.statuses, batch.count, batch.num_ids);
    });
  }
  absl::Status DoRelease(StreamRef, const BlockListBatch& batch) override {
    return runner_.Run([&]<class G>(G& group) {
      BlockLists<A, G>(group, pool_ref_, batch).Release();
      CountOperation(group, pool_ref_, batch.statuses, batch.count, batch.num_ids);
    });
  }

  // By two workers after one another, who must share the bytes out completely.
  absl::Status DoCopyBlocks(StreamRef, const BlockCopy* copies, int32_t num_copies,
                            const KvTensor& tensor) override {
    for (int32_t i = 0; i < num_copies; ++i) {
      for (uint64_t worker : {0, 1}) {
        if (CopyUnitBytes(tensor) >= 8) {
          CopyBlock<uint64_t>(tensor, copies[i], worker, 2);
        } else if (CopyUnitBytes(tensor) >= 2) {
          CopyBlock<uint16_t>(tensor, copies[i], worker, 2);
        } else {
          CopyBlock<uint8_t>(tensor, copies[i], worker, 2);
        }
      }
    }
    return absl::OkStatus();
  }

  absl::Status DoMoveTokens(StreamRef, const TokenMove* moves, int32_t num_rows,
                            const KvTensor& tensor) override {
    const uint32_t per_row = table().max_draft_tokens;
    for (int32_t i = 0; i < num_rows; ++i, moves += per_row) {
      for (uint64_t worker : {1, 0}) {
        if (CopyUnitBytes(tensor) >= 2) {
          MoveTokensOfRow<uint16_t>(tensor, table().block_tokens, moves, per_row, worker, 2);
        } else {
          MoveTokensOfRow<uint8_t>(tensor, table().block_tokens, moves, per_row, worker, 2);
        }
      }
    }
    return absl::OkStatus();
  }

  absl::Status DoAudit(StreamRef, AuditReport* report, uint32_t* workspace) override {
    const kvpage::Audit<A> audit(pool_ref_, table_ref_, report, workspace);
    for (uint64_t worker : {1, 0}) audit.Clear(worker, 2);
    for (uint64_t worker : {1, 0}) audit.Count(worker, 2);
    for (uint64_t worker : {1, 0}) audit.Check(worker, 2);
    return absl::OkStatus();
  }
  absl::Status DoStateHash(StreamRef, uint64_t* hash) override {
    *hash = 0;
    for (uint64_t worker : {2, 0, 1}) AddStateHash(pool_ref_, table_ref_, worker, 3, hash);
    return absl::OkStatus();
  }

  absl::Status DoSynchronize(StreamRef) override { return absl::OkStatus(); }
  absl::Status DoDownload(StreamRef, void* to, const void* from, size_t bytes) override {
    std::memcpy(to, from, bytes);
    return absl::OkStatus();
  }

  BlockPoolRef<A> pool_ref_;
  PageTableRef<A> table_ref_;
  Runner runner_;
};

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_SUPPORT_GROUP_KV_CACHE_H_
