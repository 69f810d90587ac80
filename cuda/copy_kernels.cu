// SPDX-License-Identifier: Apache-2.0
//
// Carries copy lists out: entries along one axis of the grid, parts of a block along the other.

#include "cuda/launch.h"
#include "cuda/launch_kernel.cuh"
#include "kvpage/core/copy_blocks.h"
#include "kvpage/core/move_tokens.h"

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

template <class Unit>
__global__ void MoveRows(const __grid_constant__ KvTensor tensor, uint32_t block_tokens,
                         const TokenMove* moves, uint32_t moves_per_row) {
  const uint64_t worker = uint64_t{blockIdx.y} * blockDim.x + threadIdx.x;
  MoveTokensOfRow<Unit>(tensor, block_tokens, moves + uint64_t{blockIdx.x} * moves_per_row,
                        moves_per_row, worker, uint64_t{gridDim.y} * blockDim.x);
}

template <class Unit>
cudaError_t LaunchMoves(cudaStream_t stream, const TokenMove* moves, uint32_t num_rows,
                        uint32_t moves_per_row, uint32_t block_tokens, const KvTensor& tensor) {
  const uint64_t units = static_cast<uint64_t>(tensor.head_bytes) / sizeof(Unit) *
                         static_cast<uint64_t>(tensor.num_heads) *
                         static_cast<uint64_t>(tensor.num_layers);
  const dim3 grid(num_rows, units > 8 * 256 ? 8 : 1);
  return LaunchKernel(MoveRows<Unit>, grid, 256, stream, tensor, block_tokens, moves,
                      moves_per_row);
}

}  // namespace

cudaError_t LaunchMoveTokens(cudaStream_t stream, const TokenMove* moves, uint32_t num_rows,
                             uint32_t moves_per_row, uint32_t block_tokens,
                             const KvTensor& tensor) {
  const int64_t unit = CopyUnitBytes(tensor);
  const auto launch = unit == 16  ? LaunchMoves<Bytes16>
                      : unit >= 4 ? LaunchMoves<uint32_t>
                                  : LaunchMoves<uint8_t>;
  return launch(stream, moves, num_rows, moves_per_row, block_tokens, tensor);
}

cudaError_t LaunchCopyBlocks(cudaStream_t stream, const BlockCopy* copies, int32_t num_copies,
                             const KvTensor& tensor) {
  const int64_t unit = CopyUnitBytes(tensor);
  if (unit == 16) return Launch<Bytes16>(stream, copies, num_copies, tensor);
  if (unit >= 4) return Launch<uint32_t>(stream, copies, num_copies, tensor);
  return Launch<uint8_t>(stream, copies, num_copies, tensor);
}

}  // namespace kvpage
