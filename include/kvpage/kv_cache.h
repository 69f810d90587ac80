// SPDX-License-Identifier: Apache-2.0
//
// kvpage/kv_cache.h
//
// A KvCache owns a block pool and a page table and changes them in batches: reserve, append,
// truncate, fork, close, and the same for speculative drafts. One interface; CreateCpuKvCache makes
// one that runs on the calling thread, CreateCudaKvCache (kvpage/cuda/cuda_kv_cache.h) one that
// runs on a GPU. Equal operations in the same order give equal block ids on both.
//
// kvpage keeps ids and tables; the KV tensor itself belongs to the caller and has num_blocks + 1
// blocks (block 0 is the null block).
//
// Example:
//   auto cache = kvpage::CreateCpuKvCache({.num_blocks = 1024, .block_tokens = 16,
//                                          .max_sequences = 64, .max_blocks_per_sequence = 128});
//   int32_t rows[] = {0, 1}, tokens[] = {100, 7};
//   kvpage::OpStatus statuses[2];
//   int64_t slots[107];
//   (*cache)->Append(kvpage::StreamRef::Default(),
//                    {.batch = {.rows = rows, .num_rows = 2, .statuses = statuses},
//                     .tokens = tokens, .slots = slots, .slot_capacity = 107});
//
// Thread safety: operations on one cache are ordered by the caller: one stream, or events between
//   streams; one thread at a time for the CPU. In-kernel operations on pool() may run at any time.
// Memory ordering: an operation on a stream sees what was before it on that stream, and publishes
//   each row it changes with one store of the row's sequence word that releases.
// Cost: one kernel launch per operation (three per Audit, see there for exports), of one thread
//   block, or of one cluster of them for more than 1024 rows; no synchronisation, no allocation, no
//   read of device memory on the host: all can be captured in a CUDA graph. See docs/design.md.
// Failure: bad host arguments are InvalidArgument and enqueue nothing; a launch that fails is
//   Internal; what happens to a row is in its status.
// Streams: results are valid on the stream after the operation; on the host, once the stream has
//   been synchronised.

#ifndef KVPAGE_KV_CACHE_H_
#define KVPAGE_KV_CACHE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "kvpage/core/audit_report.h"
#include "kvpage/core/batch.h"
#include "kvpage/core/block_pool_storage.h"
#include "kvpage/core/draft_batch.h"
#include "kvpage/core/export_batch.h"
#include "kvpage/core/host_mirror.h"
#include "kvpage/core/kv_tensor.h"
#include "kvpage/core/page_table_storage.h"
#include "kvpage/export.h"
#include "kvpage/memory_resource.h"
#include "kvpage/owned_state.h"
#include "kvpage/stream_ref.h"

namespace kvpage {

struct KvCacheOptions {
  uint32_t num_blocks = 0;  // see BlockPoolOptions
  uint32_t block_tokens = 16;
  uint32_t max_sequences = 0;
  uint32_t max_blocks_per_sequence = 0;

  uint32_t blocks_per_shard = 0;  // 0: chosen for num_blocks
  Placement block_words = Placement::kContiguous;
  Placement gate_words = Placement::kInterleaved;
  Placement sequence_words = Placement::kContiguous;

  uint32_t pending_sets = 4;        // see BlockPoolOptions
  uint32_t max_draft_tokens = 0;    // of one branch of a draft, or of a tree; 0: no drafts
  uint32_t max_draft_branches = 1;  // of a row, at most kMaxDraftBranches

  bool mirror = false;  // operations report to the host: Peek and its kin

  // Where the state lies: caller's memory of at least RequiredBytes(), aligned to
  // Carver::kAlignment; else memory of the resource; else the backend's own.
  void* memory = nullptr;
  size_t memory_bytes = 0;
  MemoryResource* memory_resource = nullptr;

  BlockPoolOptions pool() const;
  PageTableOptions table() const;
};

class KVPAGE_EXPORT KvCache {
 public:
  virtual ~KvCache();
  KvCache(const KvCache&) = delete;
  KvCache& operator=(const KvCache&) = delete;

  // Bytes of state for a cache with these options; InvalidArgument if there can be none.
  static absl::StatusOr<size_t> RequiredBytes(const KvCacheOptions& options);

  // The state, to be passed to kernels by value (or to BlockPoolRef<CpuAtomics> on CPU threads).
  const BlockPoolStorage& pool() const { return state_.pool; }
  const PageTableStorage& table() const { return state_.table; }

  // The batch operations: kvpage/core/batch.h says what each does.
  absl::Status Reserve(StreamRef stream, const ReserveBatch& batch);
  absl::Status Append(StreamRef stream, const AppendBatch& batch);
  absl::Status Truncate(StreamRef stream, const TruncateBatch& batch);
  absl::Status Close(StreamRef stream, const CloseBatch& batch);
  absl::Status Fork(StreamRef stream, const ForkBatch& batch);
  absl::Status Share(StreamRef stream, const BlockListBatch& batch);
  absl::Status Release(StreamRef stream, const BlockListBatch& batch);

  // Drafts: kvpage/core/draft_batch.h says what each does. InvalidArgument if the options allow
  // none.
  absl::Status BeginDraft(StreamRef stream, const BeginDraftBatch& batch);
  absl::Status CommitDraft(StreamRef stream, const CommitDraftBatch& batch);
  absl::Status AbortDraft(StreamRef stream, const AbortDraftBatch& batch);
  absl::Status CompactDraft(StreamRef stream, const CompactDraftBatch& batch);

  // Carries the moves of CompactDraft out in each of the caller's tensors, num_rows times
  // max_draft_tokens of them. Run it before the rows are committed.
  absl::Status MoveTokens(StreamRef stream, const TokenMove* moves, int32_t num_rows,
                          absl::Span<const KvTensor> tensors);

  // Exports: kvpage/core/export_batch.h says what each writes. They change nothing. ExportTable is
  // one launch, the others are two.
  absl::Status ExportTable(StreamRef stream, const ExportTableBatch& batch);
  absl::Status ExportSlots(StreamRef stream, const ExportSlotsBatch& batch);
  absl::Status ExportCsr(StreamRef stream, const ExportCsrBatch& batch);

  // Fences. An epoch is a step, or anything else that may still read blocks when a later operation
  // lets them go: take a number, launch the work, pass it to operations as their fence, and signal
  // it behind the work. Epochs form a timeline: Signal says that the work of its epoch and of all
  // before it is done, so on several streams it goes behind all of that work. A signal that comes
  // late, or after that of a younger epoch, keeps blocks longer and harms nothing.
  //
  // NextEpoch only counts; numbers of the caller's own that rise will do as well. Any thread.
  uint64_t NextEpoch() { return next_epoch_.fetch_add(1, std::memory_order_relaxed); }
  // Completes the epoch when the stream gets there.
  absl::Status Signal(StreamRef stream, uint64_t epoch);
  // Completes the epoch that lies in *epoch_word, memory of the backend, adds one to it, and polls:
  // for a captured graph, whose every replay is an epoch and finds what the last one let go.
  absl::Status SignalNext(StreamRef stream, uint64_t* epoch_word);
  // Makes the blocks of completed epochs free. Operations that want blocks do it themselves; a
  // server that has nothing to launch polls.
  absl::Status Poll(StreamRef stream);

  // What the host can know with no CUDA call and no wait, with the option `mirror`
  // (kvpage/core/host_mirror.h): as of the latest batch operation that has ended on the device, and
  // says which. Without it: nothing yet. Any thread, at any time.
  MirrorCounters Peek() const;
  // No row is longer than this, the tokens of an open draft included. REQUIRES: a row of the table.
  uint32_t PeekLengthBound(int32_t row) const;
  // Copies the reports on misuse from number `first` on, oldest first, and returns how many. Only
  // the latest MirrorStorage::kRingEntries are kept: a report's number tells whether some are lost.
  size_t PeekMisuses(uint64_t first, absl::Span<Misuse> out) const;

  // Carries a copy list out in each of the caller's tensors. Run it before the new tokens are
  // written and before the next operation on the cache: until then the sources are intact.
  absl::Status CopyBlocks(StreamRef stream, const BlockCopy* copies, int32_t num_copies,
                          absl::Span<const KvTensor> tensors);

  // Proves the invariant. At rest only: no in-kernel operation may be under way. `report` and
  // `workspace` are memory of the backend; the workspace holds num_blocks words and afterwards, per
  // block id - 1, the references that are no entry of a row.
  absl::Status Audit(StreamRef stream, AuditReport* report, absl::Span<uint32_t> workspace);

  // A number that is equal for caches of equal options after equal operations. At rest only. `hash`
  // is memory of the backend.
  absl::Status StateHash(StreamRef stream, uint64_t* hash);

  // Blocks until everything on the stream has run, and answers what went wrong there.
  absl::Status Synchronize(StreamRef stream);

  // Diagnostics: the same as Audit and StateHash, but they allocate what they need, synchronise the
  // stream, and return the answer. Not for the middle of serving.
  absl::StatusOr<AuditReport> AuditNow(StreamRef stream);
  absl::StatusOr<uint64_t> StateHashNow(StreamRef stream);

 protected:
  // `memory_resource` serves the diagnostics.
  KvCache(CacheState state, MemoryResource& memory_resource);

 private:
  virtual absl::Status DoReserve(StreamRef stream, const ReserveBatch& batch) = 0;
  virtual absl::Status DoAppend(StreamRef stream, const AppendBatch& batch) = 0;
  virtual absl::Status DoTruncate(StreamRef stream, const TruncateBatch& batch) = 0;
  virtual absl::Status DoClose(StreamRef stream, const CloseBatch& batch) = 0;
  virtual absl::Status DoFork(StreamRef stream, const ForkBatch& batch) = 0;
  virtual absl::Status DoBeginDraft(StreamRef stream, const BeginDraftBatch& batch) = 0;
  virtual absl::Status DoCommitDraft(StreamRef stream, const CommitDraftBatch& batch) = 0;
  virtual absl::Status DoAbortDraft(StreamRef stream, const AbortDraftBatch& batch) = 0;
  virtual absl::Status DoCompactDraft(StreamRef stream, const CompactDraftBatch& batch) = 0;
  virtual absl::Status DoMoveTokens(StreamRef stream, const TokenMove* moves, int32_t num_rows,
                                    const KvTensor& tensor) = 0;
  // The three get batches whose defaults have been replaced.
  virtual absl::Status DoExportTable(StreamRef stream, const ExportTableBatch& batch) = 0;
  virtual absl::Status DoExportSlots(StreamRef stream, const ExportSlotsBatch& batch) = 0;
  virtual absl::Status DoExportCsr(StreamRef stream, const ExportCsrBatch& batch) = 0;
  virtual absl::Status DoSignal(StreamRef stream, uint64_t epoch) = 0;
  virtual absl::Status DoSignalNext(StreamRef stream, uint64_t* epoch_word) = 0;
  virtual absl::Status DoPoll(StreamRef stream) = 0;
  virtual absl::Status DoShare(StreamRef stream, const BlockListBatch& batch) = 0;
  virtual absl::Status DoRelease(StreamRef stream, const BlockListBatch& batch) = 0;
  virtual absl::Status DoCopyBlocks(StreamRef stream, const BlockCopy* copies, int32_t num_copies,
                                    const KvTensor& tensor) = 0;
  virtual absl::Status DoAudit(StreamRef stream, AuditReport* report, uint32_t* workspace) = 0;
  virtual absl::Status DoStateHash(StreamRef stream, uint64_t* hash) = 0;
  virtual absl::Status DoSynchronize(StreamRef stream) = 0;
  virtual absl::Status DoDownload(StreamRef stream, void* to, const void* from, size_t bytes) = 0;

  CacheState state_;
  MemoryResource& memory_resource_;
  std::atomic<uint64_t> next_epoch_{1};
};

// Creates a cache whose operations run on the calling thread. InvalidArgument for options that
// allow no cache, ResourceExhausted if the memory resource refuses.
KVPAGE_EXPORT absl::StatusOr<std::unique_ptr<KvCache>> CreateCpuKvCache(
    const KvCacheOptions& options);

}  // namespace kvpage

#endif  // KVPAGE_KV_CACHE_H_
