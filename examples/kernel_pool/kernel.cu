// SPDX-License-Identifier: Apache-2.0
//
// examples/kernel_pool/kernel.cu
//
// A kernel that allocates. It needs one header of kvpage, and no Abseil.

#include "kernel.h"

#include "kvpage/cuda/kvpage.cuh"

namespace {

__global__ void Take(const __grid_constant__ kvpage::BlockPoolStorage storage, uint32_t* kv,
                     Counts* counts) {
  const kvpage::CudaBlockPoolRef pool(storage);
  const uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
  kvpage::WarpGroup warp;
  // One request for the 32 lanes; where fewer blocks are left, the first lanes get them.
  kvpage::BlockId mine = pool.TryAllocateOne(warp);
  if (mine != kvpage::kNullBlock) kv[mine] = thread;

  const bool keeps = thread % 2 == 0;
  bool served = mine != kvpage::kNullBlock;
  pool.Release(warp, keeps ? kvpage::kNullBlock : mine);  // the null block is passed over
  if (keeps && !served) {
    // The lanes that come into this branch ask together: others may have given blocks back.
    kvpage::CoalescedGroup together;
    mine = pool.TryAllocateOne(together);
    served = mine != kvpage::kNullBlock;
  }
  kvpage::CudaAtomics::AddRelaxed(served ? &counts->served : &counts->refused, uint64_t{1});
}

}  // namespace

bool TakeBlocks(const kvpage::BlockPoolStorage& pool, uint32_t num_threads, Counts* counts) {
  uint32_t* kv = nullptr;
  Counts* device_counts = nullptr;
  bool ok = cudaMalloc(&kv, (pool.num_blocks() + 1) * sizeof(uint32_t)) == cudaSuccess &&
            cudaMalloc(&device_counts, sizeof(Counts)) == cudaSuccess &&
            cudaMemset(device_counts, 0, sizeof(Counts)) == cudaSuccess;
  if (ok) {
    Take<<<num_threads / 256, 256>>>(pool, kv, device_counts);
    ok = cudaGetLastError() == cudaSuccess &&
         cudaMemcpy(counts, device_counts, sizeof(Counts), cudaMemcpyDeviceToHost) == cudaSuccess;
  }
  cudaFree(device_counts);
  cudaFree(kv);
  return ok;
}
