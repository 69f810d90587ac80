// SPDX-License-Identifier: Apache-2.0
//
// cuda/launch.h
//
// The door between host code and kernels: each function enqueues one operation and returns the
// launch's error. Plain types only, so that either side can be compiled without the other's
// headers.

#ifndef KVPAGE_CUDA_LAUNCH_H_
#define KVPAGE_CUDA_LAUNCH_H_

#include <cuda_runtime_api.h>

#include "kvpage/core/audit_report.h"
#include "kvpage/core/batch.h"
#include "kvpage/core/block_pool_storage.h"
#include "kvpage/core/draft_batch.h"
#include "kvpage/core/export_batch.h"
#include "kvpage/core/kv_tensor.h"
#include "kvpage/core/page_table_storage.h"

namespace kvpage {

cudaError_t LaunchInitPool(cudaStream_t stream, const BlockPoolStorage& pool);
cudaError_t LaunchInitTable(cudaStream_t stream, const PageTableStorage& table);

cudaError_t LaunchReserve(cudaStream_t stream, const BlockPoolStorage& pool,
                          const PageTableStorage& table, const ReserveBatch& batch);
cudaError_t LaunchAppend(cudaStream_t stream, const BlockPoolStorage& pool,
                         const PageTableStorage& table, const AppendBatch& batch);
cudaError_t LaunchTruncate(cudaStream_t stream, const BlockPoolStorage& pool,
                           const PageTableStorage& table, const TruncateBatch& batch);
cudaError_t LaunchClose(cudaStream_t stream, const BlockPoolStorage& pool,
                        const PageTableStorage& table, const CloseBatch& batch);
cudaError_t LaunchFork(cudaStream_t stream, const BlockPoolStorage& pool,
                       const PageTableStorage& table, const ForkBatch& batch);

cudaError_t LaunchBeginDraft(cudaStream_t stream, const BlockPoolStorage& pool,
                             const PageTableStorage& table, const BeginDraftBatch& batch);
cudaError_t LaunchCommitDraft(cudaStream_t stream, const BlockPoolStorage& pool,
                              const PageTableStorage& table, const CommitDraftBatch& batch);
cudaError_t LaunchAbortDraft(cudaStream_t stream, const BlockPoolStorage& pool,
                             const PageTableStorage& table, const AbortDraftBatch& batch);
cudaError_t LaunchCompactDraft(cudaStream_t stream, const BlockPoolStorage& pool,
                               const PageTableStorage& table, const CompactDraftBatch& batch);

// The three get batches whose defaults have been replaced.
cudaError_t LaunchExportTable(cudaStream_t stream, const PageTableStorage& table,
                              const ExportTableBatch& batch);
cudaError_t LaunchExportSlots(cudaStream_t stream, const PageTableStorage& table,
                              const ExportSlotsBatch& batch);
cudaError_t LaunchExportCsr(cudaStream_t stream, const PageTableStorage& table,
                            const ExportCsrBatch& batch);

cudaError_t LaunchSignal(cudaStream_t stream, const BlockPoolStorage& pool, uint64_t epoch);
cudaError_t LaunchSignalNext(cudaStream_t stream, const BlockPoolStorage& pool,
                             uint64_t* epoch_word);
cudaError_t LaunchPoll(cudaStream_t stream, const BlockPoolStorage& pool);

cudaError_t LaunchShare(cudaStream_t stream, const BlockPoolStorage& pool,
                        const BlockListBatch& list);
cudaError_t LaunchRelease(cudaStream_t stream, const BlockPoolStorage& pool,
                          const BlockListBatch& list);

cudaError_t LaunchCopyBlocks(cudaStream_t stream, const BlockCopy* copies, int32_t num_copies,
                             const KvTensor& tensor);

cudaError_t LaunchMoveTokens(cudaStream_t stream, const TokenMove* moves, uint32_t num_rows,
                             uint32_t moves_per_row, uint32_t block_tokens, const KvTensor& tensor);

cudaError_t LaunchAudit(cudaStream_t stream, const BlockPoolStorage& pool,
                        const PageTableStorage& table, AuditReport* report, uint32_t* workspace);
cudaError_t LaunchStateHash(cudaStream_t stream, const BlockPoolStorage& pool,
                            const PageTableStorage& table, uint64_t* hash);

}  // namespace kvpage

#endif  // KVPAGE_CUDA_LAUNCH_H_
