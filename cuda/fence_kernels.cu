// SPDX-License-Identifier: Apache-2.0
//
// The operations on epochs: completing one, and making the blocks that waited for it free.

#include "cuda/launch.h"
#include "cuda/launch_kernel.cuh"
#include "kvpage/core/count_operation.h"
#include "kvpage/cuda/kvpage.cuh"

namespace kvpage {
namespace {

__global__ void RunSignal(const __grid_constant__ BlockPoolStorage pool, uint64_t epoch) {
  CudaBlockPoolRef(pool).pending().Complete(epoch);
}

// If `epoch_word` is not null, completes the epoch that lies there first.
__global__ void __launch_bounds__(1024)
    RunPoll(const __grid_constant__ BlockPoolStorage pool, uint64_t* epoch_word) {
  __shared__ ThreadBlockScratch scratch;
  ThreadBlockGroup block(scratch);
  const CudaBlockPoolRef pool_ref(pool);
  if (epoch_word != nullptr) pool_ref.pending().CompleteNext(block, epoch_word);
  pool_ref.Drain(block);
  CountOperation(block, pool_ref, nullptr, nullptr, 0);
}

}  // namespace

cudaError_t LaunchSignal(cudaStream_t stream, const BlockPoolStorage& pool, uint64_t epoch) {
  return LaunchKernel(RunSignal, dim3(1), 1, stream, pool, epoch);
}

cudaError_t LaunchSignalNext(cudaStream_t stream, const BlockPoolStorage& pool,
                             uint64_t* epoch_word) {
  return LaunchKernel(RunPoll, dim3(1), 256, stream, pool, epoch_word);
}

cudaError_t LaunchPoll(cudaStream_t stream, const BlockPoolStorage& pool) {
  return LaunchSignalNext(stream, pool, nullptr);
}

}  // namespace kvpage
