// SPDX-License-Identifier: Apache-2.0
//
// The batch operations on rows: one thread block, or one cluster of them, runs the algorithm of
// kvpage/core as a group.

#include "cuda/cluster_group.cuh"
#include "cuda/launch.h"
#include "cuda/launch_kernel.cuh"
#include "kvpage/core/append_rows.h"
#include "kvpage/core/begin_draft.h"
#include "kvpage/core/commit_draft.h"
#include "kvpage/core/compact_draft.h"
#include "kvpage/core/fork_rows.h"
#include "kvpage/core/release_rows.h"
#include "kvpage/cuda/kvpage.cuh"

namespace kvpage {
namespace {

// The short way of operations that have one.
template <template <class, class> class Operation, class G, class Batch>
__device__ bool TryStep(G& group, const BlockPoolStorage& pool_storage,
                        const PageTableStorage& table_storage, const Batch& batch) {
  if constexpr (requires { typename Operation<CudaAtomics, G>::Step; }) {
    using Step = typename Operation<CudaAtomics, G>::Step;
    const CudaBlockPoolRef pool(pool_storage);
    const CudaPageTableRef table(table_storage);
    return Step(group, pool, table, pool_storage, batch).Try();
  } else {
    return false;
  }
}

// Whether an operation is short enough to be a part of its kernel.
template <class Operation>
concept IsShort = requires {
  Operation::kIsShort;
};

// Apart from the kernel, so that what it needs does not burden the registers and the instruction
// cache of the short way; made of what lies in constant memory.
template <template <class, class> class Operation, class G, class Scratch, class Batch>
__device__ __noinline__ void RunAny(Scratch& scratch, const BlockPoolStorage& pool_storage,
                                    const PageTableStorage& table_storage, const Batch& batch) {
  G group(scratch);
  const CudaBlockPoolRef pool(pool_storage);
  const CudaPageTableRef table(table_storage);
  Operation<CudaAtomics, G>(group, pool, table, batch).Run();
}

template <template <class, class> class Operation, class Batch>
__global__ void __launch_bounds__(1024)
    RunRows(const __grid_constant__ BlockPoolStorage pool,
            const __grid_constant__ PageTableStorage table, const __grid_constant__ Batch batch) {
  __shared__ ThreadBlockScratch scratch;
  ThreadBlockGroup block(scratch);
  if constexpr (IsShort<Operation<CudaAtomics, ThreadBlockGroup>>) {
    const CudaBlockPoolRef pool_ref(pool);
    const CudaPageTableRef table_ref(table);
    Operation<CudaAtomics, ThreadBlockGroup>(block, pool_ref, table_ref, batch).Run();
  } else if (!TryStep<Operation>(block, pool, table, batch)) {
    RunAny<Operation, ThreadBlockGroup>(scratch, pool, table, batch);
  }
}

template <template <class, class> class Operation, class Batch>
__global__ void __launch_bounds__(1024) RunManyRows(const __grid_constant__ BlockPoolStorage pool,
                                                    const __grid_constant__ PageTableStorage table,
                                                    const __grid_constant__ Batch batch) {
#if __CUDA_ARCH__ >= 900
  __shared__ ClusterScratch scratch;
  ClusterGroup cluster(scratch);
  if constexpr (IsShort<Operation<CudaAtomics, ClusterGroup>>) {
    const CudaBlockPoolRef pool_ref(pool);
    const CudaPageTableRef table_ref(table);
    Operation<CudaAtomics, ClusterGroup>(cluster, pool_ref, table_ref, batch).Run();
  } else if (!TryStep<Operation>(cluster, pool, table, batch)) {
    RunAny<Operation, ClusterGroup>(scratch, pool, table, batch);
  }
  cluster.Finish();
#endif
}

// Whether the code that would run is that of a GPU with clusters: its own, or made from PTX for it.
template <class Kernel>
bool HasClusters(Kernel kernel) {
  cudaFuncAttributes attributes;
  if (cudaFuncGetAttributes(&attributes, kernel) != cudaSuccess) return false;
  return attributes.ptxVersion >= 90;
}

// A thread per piece of work and a warp besides, which the short way of Append gives to the pool,
// as far as a thread block or a cluster can have as many.
template <template <class, class> class Operation, class Batch>
cudaError_t Launch(cudaStream_t stream, const BlockPoolStorage& pool, const PageTableStorage& table,
                   const Batch& batch, int64_t work) {
  const auto many = RunManyRows<Operation, Batch>;
  if (work > 1024 && HasClusters(many)) {
    uint32_t blocks = 2;
    while (blocks < kMaxClusterBlocks && blocks * 1024 < work) blocks *= 2;
    return LaunchCluster(many, blocks, 1024, stream, pool, table, batch);
  }
  const int64_t rounded = (work + 31) / 32 * 32 + 32;
  const uint32_t threads = rounded > 1024 ? 1024 : rounded;
  return LaunchKernel(RunRows<Operation, Batch>, dim3(1), threads, stream, pool, table, batch);
}

// The host does not know how many blocks the rows hold: enough threads for a few of each.
constexpr int64_t kBlocksPerRow = 16;

}  // namespace

cudaError_t LaunchReserve(cudaStream_t stream, const BlockPoolStorage& pool,
                          const PageTableStorage& table, const ReserveBatch& batch) {
  return Launch<AppendRows>(stream, pool, table, batch, batch.batch.num_rows);
}

cudaError_t LaunchAppend(cudaStream_t stream, const BlockPoolStorage& pool,
                         const PageTableStorage& table, const AppendBatch& batch) {
  const int64_t rows = batch.batch.num_rows;
  return Launch<AppendRows>(stream, pool, table, batch,
                            batch.slot_capacity > rows ? batch.slot_capacity : rows);
}

cudaError_t LaunchTruncate(cudaStream_t stream, const BlockPoolStorage& pool,
                           const PageTableStorage& table, const TruncateBatch& batch) {
  return Launch<ReleaseRows>(stream, pool, table, batch, batch.batch.num_rows);
}

cudaError_t LaunchClose(cudaStream_t stream, const BlockPoolStorage& pool,
                        const PageTableStorage& table, const CloseBatch& batch) {
  return Launch<ReleaseRows>(stream, pool, table, batch, batch.batch.num_rows * kBlocksPerRow);
}

cudaError_t LaunchBeginDraft(cudaStream_t stream, const BlockPoolStorage& pool,
                             const PageTableStorage& table, const BeginDraftBatch& batch) {
  return Launch<BeginDraft>(stream, pool, table, batch, batch.batch.num_rows);
}

cudaError_t LaunchCommitDraft(cudaStream_t stream, const BlockPoolStorage& pool,
                              const PageTableStorage& table, const CommitDraftBatch& batch) {
  return Launch<CommitDraft>(stream, pool, table, batch, batch.batch.num_rows);
}

cudaError_t LaunchAbortDraft(cudaStream_t stream, const BlockPoolStorage& pool,
                             const PageTableStorage& table, const AbortDraftBatch& batch) {
  return Launch<CommitDraft>(stream, pool, table,
                             CommitDraftBatch{.batch = batch.batch, .fence = batch.fence},
                             batch.batch.num_rows);
}

cudaError_t LaunchCompactDraft(cudaStream_t stream, const BlockPoolStorage& pool,
                               const PageTableStorage& table, const CompactDraftBatch& batch) {
  return Launch<CompactDraft>(stream, pool, table, batch, batch.batch.num_rows);
}

cudaError_t LaunchFork(cudaStream_t stream, const BlockPoolStorage& pool,
                       const PageTableStorage& table, const ForkBatch& batch) {
  return Launch<ForkRows>(stream, pool, table, batch, batch.batch.num_rows * kBlocksPerRow);
}

}  // namespace kvpage
