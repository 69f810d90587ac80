// SPDX-License-Identifier: Apache-2.0
//
// tests/consumers/find_package_cuda/kernel.cu
//
// A kernel of the user's own that allocates from a kvpage pool.

#include "kernel.h"

#include <set>

#include "kvpage/cuda/kvpage.cuh"

namespace {

__global__ void AllocateKernel(const __grid_constant__ kvpage::BlockPoolStorage storage,
                               kvpage::BlockId* ids) {
  const kvpage::CudaBlockPoolRef pool(storage);
  kvpage::WarpGroup warp;
  ids[threadIdx.x] = pool.TryAllocateOne(warp);
}

}  // namespace

bool WarpAllocates(const kvpage::BlockPoolStorage& pool) {
  kvpage::BlockId ids[32] = {};
  kvpage::BlockId* device_ids = nullptr;
  if (cudaMalloc(&device_ids, sizeof(ids)) != cudaSuccess) return false;
  AllocateKernel<<<1, 32>>>(pool, device_ids);
  const cudaError_t error = cudaMemcpy(ids, device_ids, sizeof(ids), cudaMemcpyDeviceToHost);
  cudaFree(device_ids);
  const std::set<kvpage::BlockId> distinct(ids, ids + 32);
  return error == cudaSuccess && distinct.size() == 32 && *distinct.begin() >= 1 &&
         *distinct.rbegin() <= pool.bits.num_blocks;
}
