// SPDX-License-Identifier: Apache-2.0
//
// The batch operations on rows: one thread block, or one cluster of them, runs the algorithm of
// kvpage/core as a group.

#include <type_traits>

#include "cuda/cluster_group.cuh"
#include "cuda/launch.h"
#include "cuda/launch_kernel.cuh"
#include "kvpage/core/append_rows.h"
#include "kvpage/core/begin_draft.h"
#include "kvpage/core/commit_draft.h"
#include "kvpage/core/compact_draft.h"
#include "kvpage/core/count_operation.h"
#include "kvpage/core/fork_rows.h"
#include "kvpage/core/fork_step.h"
#include "kvpage/core/release_rows.h"
#include "kvpage/core/release_step.h"
#include "kvpage/cuda/kvpage.cuh"

namespace kvpage {
namespace {

// The short way of an operation that has one.
template <template <class, class> class Operation, class G, class Batch>
__device__ bool TryStep(G& group, const BlockPoolStorage& pool_storage,
                        const PageTableStorage& table_storage, const Batch& batch) {
  const CudaBlockPoolRef pool(pool_storage);
  const CudaPageTableRef table(table_storage);
  if constexpr (requires { typename Operation<CudaAtomics, G>::Step; }) {
    using Step = typename Operation<CudaAtomics, G>::Step;
    return Step(group, pool, table, pool_storage, batch).Try();
  } else if constexpr (std::is_same_v<Operation<CudaAtomics, G>, ForkRows<CudaAtomics, G>>) {
    return ForkStep<CudaAtomics, G>(group, pool, table, batch).Try();
  } else {
    return ReleaseStep<CudaAtomics, G>(group, pool, table, batch).Try();
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

template <class G, class Scratch>
__device__ __noinline__ void Count(Scratch& scratch, const BlockPoolStorage& pool_storage,
                                   const RowBatch& batch) {
  G group(scratch);
  const CudaBlockPoolRef pool(pool_storage);
  CountOperation(group, pool, batch.statuses, batch.count, batch.num_rows);
}

// Truncate, Close and Fork are better off with more registers than a lane for each row allows.
template <class Batch>
constexpr uint32_t kMostThreads = 1024;
template <>
constexpr uint32_t kMostThreads<TruncateBatch> = 512;
template <>
constexpr uint32_t kMostThreads<CloseBatch> = 512;
template <>
constexpr uint32_t kMostThreads<ForkBatch> = 512;

template <template <class, class> class Operation, class Batch>
__global__ void __launch_bounds__(kMostThreads<Batch>)
    RunRows(const __grid_constant__ BlockPoolStorage pool,
            const __grid_constant__ PageTableStorage table, const __grid_constant__ Batch batch) {
  __shared__ ThreadBlockScratch scratch;
  AwaitEarlierWork();
  ThreadBlockGroup block(scratch);
  if constexpr (IsShort<Operation<CudaAtomics, ThreadBlockGroup>>) {
    const CudaBlockPoolRef pool_ref(pool);
    const CudaPageTableRef table_ref(table);
    Operation<CudaAtomics, ThreadBlockGroup>(block, pool_ref, table_ref, batch).Run();
  } else if (!TryStep<Operation>(block, pool, table, batch)) {
    RunAny<Operation, ThreadBlockGroup>(scratch, pool, table, batch);
  }
  if (pool.mirror.exists()) Count<ThreadBlockGroup>(scratch, pool, batch.batch);
}

template <template <class, class> class Operation, class Batch>
__global__ void __launch_bounds__(kMostThreads<Batch>)
    RunManyRows(const __grid_constant__ BlockPoolStorage pool,
                const __grid_constant__ PageTableStorage table,
                const __grid_constant__ Batch batch) {
#if __CUDA_ARCH__ >= 900
  __shared__ ClusterScratch scratch;
  ClusterGroup cluster(scratch);
  AwaitEarlierWork();
  if constexpr (IsShort<Operation<CudaAtomics, ClusterGroup>>) {
    const CudaBlockPoolRef pool_ref(pool);
    const CudaPageTableRef table_ref(table);
    Operation<CudaAtomics, ClusterGroup>(cluster, pool_ref, table_ref, batch).Run();
  } else if (TryStep<Operation>(cluster, pool, table, batch)) {
    // The steps of Truncate, Close and Fork read no other block's shared memory behind their last
    // meeting.
    constexpr bool kMeets = requires { typename Operation<CudaAtomics, ClusterGroup>::Step; };
    if (!kMeets && !pool.mirror.exists()) return;
    cluster.Sync();  // a step may not have met; and before another group is made of the cluster
  } else {
    if (blockIdx.x >= cluster.num_blocks()) return;  // one cluster does it
    cluster.Sync();
    RunAny<Operation, ClusterGroup>(scratch, pool, table, batch);
  }
  if (pool.mirror.exists()) Count<ClusterGroup>(scratch, pool, batch.batch);
  cluster.Finish();
#endif
}

// Whether the code that would run is that of a GPU with clusters and early launches (sm_90): its
// own, or made from PTX for it.
template <class Kernel>
bool HasClusters(Kernel kernel) {
  cudaFuncAttributes attributes;
  if (cudaFuncGetAttributes(&attributes, kernel) != cudaSuccess) return false;
  return attributes.ptxVersion >= 90;
}

// One thread block.
template <class Kernel, class... Arguments>
cudaError_t LaunchOne(Kernel kernel, bool early, uint32_t threads, cudaStream_t stream,
                      const Arguments&... arguments) {
  return early ? LaunchEarly(kernel, 1, 1, threads, stream, arguments...)
               : LaunchKernel(kernel, dim3(1), threads, stream, arguments...);
}

// A thread per piece of work and a warp besides, which short ways give to the pool, as far as a
// thread block or a cluster can have as many.
template <template <class, class> class Operation, class Batch>
cudaError_t Launch(cudaStream_t stream, const BlockPoolStorage& pool, const PageTableStorage& table,
                   const Batch& batch, int64_t work) {
  const auto many = RunManyRows<Operation, Batch>;
  const bool has_clusters = HasClusters(many);
  if (work > 1024 && has_clusters) {
    uint32_t blocks = 2;
    while (blocks < kPortableClusterBlocks && blocks * 1024 < work) blocks *= 2;
    return LaunchEarly(many, blocks, blocks, 1024, stream, pool, table, batch);
  }
  const int64_t rounded = (work + 31) / 32 * 32 + 32;
  const uint32_t threads = rounded > 1024 ? 1024 : rounded;
  return LaunchOne(RunRows<Operation, Batch>, has_clusters, threads, stream, pool, table, batch);
}

// How many thread blocks this GPU can have in a cluster of a kernel: `most`, or what all can.
template <class Kernel>
uint32_t ClusterLimit(Kernel kernel, uint32_t most, uint32_t threads) {
  if (most <= kPortableClusterBlocks) return most;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(most);
  config.blockDim = dim3(threads);
  int limit = 0;
  const bool may_be_larger =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1) ==
          cudaSuccess &&
      cudaOccupancyMaxPotentialClusterSize(&limit, kernel, &config) == cudaSuccess;
  return may_be_larger && limit >= static_cast<int>(most) ? most : kPortableClusterBlocks;
}

// Truncate, Close and Fork. The host does not know how many blocks the rows hold: a thread block
// for so many rows, with eight threads for each.
constexpr int64_t kRowsPerBlock = 64;
// About as many thread blocks as a large GPU has multiprocessors; a power of two.
constexpr uint32_t kGridBlocks = 128;

template <template <class, class> class Operation, class Batch>
cudaError_t LaunchSharing(cudaStream_t stream, const BlockPoolStorage& pool,
                          const PageTableStorage& table, const Batch& batch, uint32_t most_blocks) {
  const int64_t rows = batch.batch.num_rows;
  const auto many = RunManyRows<Operation, Batch>;
  // The operation is counted by one group that has met.
  if (pool.mirror.exists() && most_blocks > kMaxClusterBlocks) most_blocks = kMaxClusterBlocks;
  uint32_t blocks = 1;
  const bool has_clusters = HasClusters(many);
  if (has_clusters) {
    while (blocks < most_blocks && blocks * kRowsPerBlock < rows) blocks *= 2;
  }
  const uint32_t in_cluster = blocks < kMaxClusterBlocks ? blocks : kMaxClusterBlocks;
  // One cluster is to have a lane for each row, in case that it has to do it all.
  uint32_t threads = 256;
  while (threads < kMostThreads<Batch> &&
         (blocks * threads < 8 * rows || in_cluster * threads < rows)) {
    threads *= 2;
  }
  if (blocks == 1) {
    return LaunchOne(RunRows<Operation, Batch>, has_clusters, threads, stream, pool, table, batch);
  }
  const uint32_t limit = ClusterLimit(many, in_cluster, threads);
  // What one cluster has to do alone, a smaller one does with fewer blocks.
  if (most_blocks <= kMaxClusterBlocks) blocks = limit;
  return LaunchEarly(many, blocks, limit, threads, stream, pool, table, batch);
}

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
  return LaunchSharing<ReleaseRows>(stream, pool, table, batch, kGridBlocks);
}

cudaError_t LaunchClose(cudaStream_t stream, const BlockPoolStorage& pool,
                        const PageTableStorage& table, const CloseBatch& batch) {
  return LaunchSharing<ReleaseRows>(stream, pool, table, batch, kGridBlocks);
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
  return LaunchSharing<ForkRows>(stream, pool, table, batch, kMaxClusterBlocks);
}

}  // namespace kvpage
