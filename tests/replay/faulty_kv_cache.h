// SPDX-License-Identifier: Apache-2.0
//
// tests/replay/faulty_kv_cache.h
//
// A CPU cache that keeps what it was asked for, and in which a test can falsify answers and fail
// calls.

#ifndef KVPAGE_TESTS_REPLAY_FAULTY_KV_CACHE_H_
#define KVPAGE_TESTS_REPLAY_FAULTY_KV_CACHE_H_

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"

#include "kvpage/kv_cache.h"

namespace kvpage::test {

enum class Operation { kReserve, kAppend, kBeginDraft, kCommitDraft, kClose };

struct Call {
  Operation operation;
  std::vector<int32_t> rows;
  std::vector<int32_t> tokens;  // empty for kClose
  std::vector<OpStatus> statuses;
};

class FaultyKvCache final : public KvCache {
 public:
  static std::unique_ptr<FaultyKvCache> Create(const KvCacheOptions& options) {
    auto cache = CreateCpuKvCache(options);
    return cache.ok() ? std::unique_ptr<FaultyKvCache>(new FaultyKvCache(*std::move(cache)))
                      : nullptr;
  }

  // Called after each operation, before the caller sees its answer: may change `statuses`, and its
  // result is that of the call.
  using Fault = std::function<absl::Status(const Call&, OpStatus* statuses)>;
  void set_fault(Fault fault) { fault_ = std::move(fault); }
  void set_synchronize_status(absl::Status status) { synchronize_ = std::move(status); }

  const std::vector<Call>& calls() const { return calls_; }

 private:
  explicit FaultyKvCache(std::unique_ptr<KvCache> cache)
      : KvCache(SharedState(*cache), memory_), cache_(std::move(cache)) {}

  // The arrays of the cache that does the work.
  static CacheState SharedState(const KvCache& cache) {
    CacheState state;
    state.pool = cache.pool();
    state.table = cache.table();
    return state;
  }

  absl::Status Keep(Operation operation, const RowBatch& batch, const int32_t* tokens) {
    Call call{operation, {batch.rows, batch.rows + batch.num_rows}, {}, {}};
    if (tokens != nullptr) call.tokens.assign(tokens, tokens + batch.num_rows);
    call.statuses.assign(batch.statuses, batch.statuses + batch.num_rows);
    calls_.push_back(call);
    return fault_ ? fault_(call, batch.statuses) : absl::OkStatus();
  }
  static absl::Status Unused() { return absl::UnimplementedError("not used by a replay"); }

  absl::Status DoReserve(StreamRef stream, const ReserveBatch& batch) override {
    absl::Status status = cache_->Reserve(stream, batch);
    status.Update(Keep(Operation::kReserve, batch.batch, batch.tokens));
    return status;
  }
  absl::Status DoAppend(StreamRef stream, const AppendBatch& batch) override {
    absl::Status status = cache_->Append(stream, batch);
    status.Update(Keep(Operation::kAppend, batch.batch, batch.tokens));
    return status;
  }
  absl::Status DoClose(StreamRef stream, const CloseBatch& batch) override {
    absl::Status status = cache_->Close(stream, batch);
    status.Update(Keep(Operation::kClose, batch.batch, nullptr));
    return status;
  }
  absl::Status DoBeginDraft(StreamRef stream, const BeginDraftBatch& batch) override {
    absl::Status status = cache_->BeginDraft(stream, batch);
    status.Update(Keep(Operation::kBeginDraft, batch.batch, batch.tokens));
    return status;
  }
  absl::Status DoCommitDraft(StreamRef stream, const CommitDraftBatch& batch) override {
    absl::Status status = cache_->CommitDraft(stream, batch);
    status.Update(Keep(Operation::kCommitDraft, batch.batch, batch.tokens));
    return status;
  }
  absl::Status DoAbortDraft(StreamRef, const AbortDraftBatch&) override { return Unused(); }
  absl::Status DoCompactDraft(StreamRef, const CompactDraftBatch&) override { return Unused(); }
  absl::Status DoMoveTokens(StreamRef, const TokenMove*, int32_t, const KvTensor&) override {
    return Unused();
  }
  absl::Status DoExportTable(StreamRef, const ExportTableBatch&) override { return Unused(); }
  absl::Status DoExportSlots(StreamRef, const ExportSlotsBatch&) override { return Unused(); }
  absl::Status DoExportCsr(StreamRef, const ExportCsrBatch&) override { return Unused(); }
  absl::Status DoSignal(StreamRef, uint64_t) override { return Unused(); }
  absl::Status DoSignalNext(StreamRef, uint64_t*) override { return Unused(); }
  absl::Status DoPoll(StreamRef) override { return Unused(); }
  absl::Status DoTruncate(StreamRef, const TruncateBatch&) override { return Unused(); }
  absl::Status DoFork(StreamRef, const ForkBatch&) override { return Unused(); }
  absl::Status DoShare(StreamRef, const BlockListBatch&) override { return Unused(); }
  absl::Status DoRelease(StreamRef, const BlockListBatch&) override { return Unused(); }
  absl::Status DoCopyBlocks(StreamRef, const BlockCopy*, int32_t, const KvTensor&) override {
    return Unused();
  }
  absl::Status DoAudit(StreamRef stream, AuditReport* report, uint32_t* workspace) override {
    return cache_->Audit(stream, report, absl::MakeSpan(workspace, pool().num_blocks()));
  }
  absl::Status DoStateHash(StreamRef stream, uint64_t* hash) override {
    return cache_->StateHash(stream, hash);
  }
  absl::Status DoSynchronize(StreamRef) override { return synchronize_; }
  absl::Status DoDownload(StreamRef, void* to, const void* from, size_t bytes) override {
    std::memcpy(to, from, bytes);
    return absl::OkStatus();
  }

  HostMemoryResource memory_;
  std::unique_ptr<KvCache> cache_;
  std::vector<Call> calls_;
  Fault fault_;
  absl::Status synchronize_;
};

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_REPLAY_FAULTY_KV_CACHE_H_
