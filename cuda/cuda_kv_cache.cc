// SPDX-License-Identifier: Apache-2.0
//
// The KvCache that enqueues every operation on a stream.

#include "kvpage/cuda/cuda_kv_cache.h"

#include <memory>
#include <utility>

#include "absl/status/status.h"

#include "cuda/cuda_status.h"
#include "cuda/default_memory.h"
#include "cuda/launch.h"

namespace kvpage {
namespace {

class CudaKvCache final : public KvCache {
 public:
  CudaKvCache(CacheState state, MemoryResource& memory_resource)
      : KvCache(std::move(state), memory_resource) {}

  absl::Status Init(StreamRef stream) {
    absl::Status status = CudaStatus(LaunchInitPool(stream.get(), pool()), "init pool");
    status.Update(CudaStatus(LaunchInitTable(stream.get(), table()), "init table"));
    return status;
  }

 private:
  absl::Status DoReserve(StreamRef stream, const ReserveBatch& batch) override {
    return CudaStatus(LaunchReserve(stream.get(), pool(), table(), batch), "Reserve");
  }
  absl::Status DoAppend(StreamRef stream, const AppendBatch& batch) override {
    return CudaStatus(LaunchAppend(stream.get(), pool(), table(), batch), "Append");
  }
  absl::Status DoTruncate(StreamRef stream, const TruncateBatch& batch) override {
    return CudaStatus(LaunchTruncate(stream.get(), pool(), table(), batch), "Truncate");
  }
  absl::Status DoClose(StreamRef stream, const CloseBatch& batch) override {
    return CudaStatus(LaunchClose(stream.get(), pool(), table(), batch), "Close");
  }
  absl::Status DoFork(StreamRef stream, const ForkBatch& batch) override {
    return CudaStatus(LaunchFork(stream.get(), pool(), table(), batch), "Fork");
  }
  absl::Status DoBeginDraft(StreamRef stream, const BeginDraftBatch& batch) override {
    return CudaStatus(LaunchBeginDraft(stream.get(), pool(), table(), batch), "BeginDraft");
  }
  absl::Status DoCommitDraft(StreamRef stream, const CommitDraftBatch& batch) override {
    return CudaStatus(LaunchCommitDraft(stream.get(), pool(), table(), batch), "CommitDraft");
  }
  absl::Status DoAbortDraft(StreamRef stream, const AbortDraftBatch& batch) override {
    return CudaStatus(LaunchAbortDraft(stream.get(), pool(), table(), batch), "AbortDraft");
  }
  absl::Status DoCompactDraft(StreamRef stream, const CompactDraftBatch& batch) override {
    return CudaStatus(LaunchCompactDraft(stream.get(), pool(), table(), batch), "CompactDraft");
  }
  absl::Status DoMoveTokens(StreamRef stream, const TokenMove* moves, int32_t num_rows,
                            const KvTensor& tensor) override {
    return CudaStatus(LaunchMoveTokens(stream.get(), moves, static_cast<uint32_t>(num_rows),
                                       table().max_draft_tokens, table().block_tokens, tensor),
                      "MoveTokens");
  }
  absl::Status DoExportTable(StreamRef stream, const ExportTableBatch& batch) override {
    return CudaStatus(LaunchExportTable(stream.get(), table(), batch), "ExportTable");
  }
  absl::Status DoExportSlots(StreamRef stream, const ExportSlotsBatch& batch) override {
    return CudaStatus(LaunchExportSlots(stream.get(), table(), batch), "ExportSlots");
  }
  absl::Status DoExportCsr(StreamRef stream, const ExportCsrBatch& batch) override {
    return CudaStatus(LaunchExportCsr(stream.get(), table(), batch), "ExportCsr");
  }
  absl::Status DoSignal(StreamRef stream, uint64_t epoch) override {
    return CudaStatus(LaunchSignal(stream.get(), pool(), epoch), "Signal");
  }
  absl::Status DoSignalNext(StreamRef stream, uint64_t* epoch_word) override {
    return CudaStatus(LaunchSignalNext(stream.get(), pool(), epoch_word), "SignalNext");
  }
  absl::Status DoPoll(StreamRef stream) override {
    return CudaStatus(LaunchPoll(stream.get(), pool()), "Poll");
  }
  absl::Status DoShare(StreamRef stream, const BlockListBatch& batch) override {
    return CudaStatus(LaunchShare(stream.get(), pool(), batch), "Share");
  }
  absl::Status DoRelease(StreamRef stream, const BlockListBatch& batch) override {
    return CudaStatus(LaunchRelease(stream.get(), pool(), batch), "Release");
  }
  absl::Status DoCopyBlocks(StreamRef stream, const BlockCopy* copies, int32_t num_copies,
                            const KvTensor& tensor) override {
    return CudaStatus(LaunchCopyBlocks(stream.get(), copies, num_copies, tensor), "CopyBlocks");
  }
  absl::Status DoAudit(StreamRef stream, AuditReport* report, uint32_t* workspace) override {
    return CudaStatus(LaunchAudit(stream.get(), pool(), table(), report, workspace), "Audit");
  }
  absl::Status DoStateHash(StreamRef stream, uint64_t* hash) override {
    return CudaStatus(LaunchStateHash(stream.get(), pool(), table(), hash), "StateHash");
  }

  absl::Status DoSynchronize(StreamRef stream) override {
    return CudaStatus(cudaStreamSynchronize(stream.get()), "cudaStreamSynchronize");
  }
  absl::Status DoDownload(StreamRef stream, void* to, const void* from, size_t bytes) override {
    return CudaStatus(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream.get()),
                      "cudaMemcpyAsync");
  }
};

}  // namespace

absl::StatusOr<std::unique_ptr<KvCache>> CreateCudaKvCache(StreamRef stream,
                                                           const KvCacheOptions& options) {
  MemoryResource& resource =
      options.memory_resource != nullptr ? *options.memory_resource : DefaultDeviceMemory();
  absl::StatusOr<CacheState> state = CacheState::Create(options, resource, DefaultPinnedMemory());
  if (!state.ok()) return state.status();
  auto cache = std::make_unique<CudaKvCache>(*std::move(state), resource);
  absl::Status status = cache->Init(stream);
  if (!status.ok()) return status;
  return cache;
}

}  // namespace kvpage
