// SPDX-License-Identifier: Apache-2.0

#include "bench/step_kernels.h"

namespace kvpage::bench {
namespace {

__global__ void Empty() {}

__global__ void AtomicPerRowAndBlock(uint32_t* counts, uint32_t num_blocks, uint32_t num_rows,
                                     uint32_t delta) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < num_blocks * num_rows) atomicAdd(&counts[i % num_blocks], delta);
}

}  // namespace

cudaError_t LaunchEmpty(cudaStream_t stream, uint32_t threads) {
  Empty<<<1, threads, 0, stream>>>();
  return cudaGetLastError();
}

cudaError_t LaunchAtomicPerRowAndBlock(cudaStream_t stream, uint32_t* counts, uint32_t num_blocks,
                                       uint32_t num_rows, int32_t delta) {
  AtomicPerRowAndBlock<<<(num_blocks * num_rows + 255) / 256, 256, 0, stream>>>(
      counts, num_blocks, num_rows, static_cast<uint32_t>(delta));
  return cudaGetLastError();
}

}  // namespace kvpage::bench
