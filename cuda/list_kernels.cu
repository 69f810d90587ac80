// SPDX-License-Identifier: Apache-2.0
//
// The batch operations on block lists: one thread block runs the algorithm of kvpage/core as a
// group.

#include "cuda/launch.h"
#include "cuda/launch_kernel.cuh"
#include "kvpage/core/block_lists.h"
#include "kvpage/core/count_operation.h"
#include "kvpage/cuda/kvpage.cuh"

namespace kvpage {
namespace {

template <bool kShares>
__global__ void __launch_bounds__(1024) RunList(const __grid_constant__ BlockPoolStorage storage,
                                                const __grid_constant__ BlockListBatch list) {
  __shared__ ThreadBlockScratch scratch;
  ThreadBlockGroup block(scratch);
  const CudaBlockPoolRef pool(storage);
  BlockLists<CudaAtomics, ThreadBlockGroup> lists(block, pool, list);
  if constexpr (kShares) {
    lists.Share();
  } else {
    lists.Release();
  }
  CountOperation(block, pool, list.statuses, list.count, list.num_ids);
}

template <bool kShares>
cudaError_t Launch(cudaStream_t stream, const BlockPoolStorage& pool, const BlockListBatch& list) {
  const uint32_t warps = (static_cast<uint32_t>(list.num_ids) + 31) / 32;
  const uint32_t threads = warps > 32 ? 1024 : warps * 32;
  return LaunchKernel(RunList<kShares>, dim3(1), threads, stream, pool, list);
}

}  // namespace

cudaError_t LaunchShare(cudaStream_t stream, const BlockPoolStorage& pool,
                        const BlockListBatch& list) {
  return Launch<true>(stream, pool, list);
}

cudaError_t LaunchRelease(cudaStream_t stream, const BlockPoolStorage& pool,
                          const BlockListBatch& list) {
  return Launch<false>(stream, pool, list);
}

}  // namespace kvpage
