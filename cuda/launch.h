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

cudaError_t LaunchShare(cudaStream_t stream, const BlockPoolStorage& pool,
                        const BlockListBatch& list);
cudaError_t LaunchRelease(cudaStream_t stream, const BlockPoolStorage& pool,
                          const BlockListBatch& list);

cudaError_t LaunchCopyBlocks(cudaStream_t stream, const BlockCopy* copies, int32_t num_copies,
                             const KvTensor& tensor);

cudaError_t LaunchAudit(cudaStream_t stream, const BlockPoolStorage& pool,
                        const PageTableStorage& table, AuditReport* report, uint32_t* workspace);
cudaError_t LaunchStateHash(cudaStream_t stream, const BlockPoolStorage& pool,
                            const PageTableStorage& table, uint64_t* hash);

}  // namespace kvpage

#endif  // KVPAGE_CUDA_LAUNCH_H_
