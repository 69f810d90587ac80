// SPDX-License-Identifier: Apache-2.0
//
// Carries copy lists out: entries along one axis of the grid, parts of a block along the other.

#include "cuda/launch.h"
#include "cuda/launch_kernel.cuh"
#include "kvpage/core/copy_blocks.h"

namespace kvpage {
namespace {

template <class Unit>
__global__ void CopyList(const __grid_constant__ KvTensor tensor, const BlockCopy* copies) {
  const uint64_t worker = uint64_t{blockIdx.y} * blockDim.x + threadIdx.x;
  CopyBlock<Unit>(tensor, copies[blockIdx.x], worker, uint64_t{gridDim.y} * blockDim.x);
}

template <class Unit>
cudaError_t Launch(cudaStream_t stream, const BlockCopy* copies, int32_t num_copies,
                   const KvTensor& tensor) {
  // The host does not know how many tokens an entry has: a few thread blocks each, with a stride.
  const dim3 grid(static_cast<uint32_t>(num_copies),
                  tensor.num_layers * tensor.num_heads > 8 ? 8 : 1);
  return LaunchKernel(CopyList<Unit>, grid, 256, stream, tensor, copies);
}

}  // namespace

cudaError_t LaunchCopyBlocks(cudaStream_t stream, const BlockCopy* copies, int32_t num_copies,
                             const KvTensor& tensor) {
  const int64_t unit = CopyUnitBytes(tensor);
  if (unit == 16) return Launch<Bytes16>(stream, copies, num_copies, tensor);
  if (unit >= 4) return Launch<uint32_t>(stream, copies, num_copies, tensor);
  return Launch<uint8_t>(stream, copies, num_copies, tensor);
}

}  // namespace kvpage
