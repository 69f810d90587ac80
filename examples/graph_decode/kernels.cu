// SPDX-License-Identifier: Apache-2.0
//
// examples/graph_decode/kernels.cu
//
// The stand-ins for two models. They know nothing of kvpage but the arrays that it wrote.

#include "kernels.h"

namespace {

// Each thread writes the KV of one drafted token.
__global__ void Draft(const __grid_constant__ DecodeArrays a) {
  const uint32_t row = threadIdx.x / kDraftTokens;
  const uint32_t t = threadIdx.x % kDraftTokens;
  const int64_t slot = a.slots[threadIdx.x];
  if (slot >= 0) a.kv[slot] = ((uint64_t{row}) << 32) + a.lengths[row] + t;
}

// A thread block for each row "attends" to all its tokens, drafted ones included, through the
// exported table, and then decides how many it accepts: from 1 to all.
__global__ void Verify(const __grid_constant__ DecodeArrays a) {
  const uint32_t row = blockIdx.x;
  const int32_t length = a.lengths[row];
  for (int32_t p = static_cast<int32_t>(threadIdx.x); p < length; p += blockDim.x) {
    const int64_t block = a.table[row * kRowBlocks + p / kBlockTokens];
    const uint64_t expected = (uint64_t{row} << 32) + static_cast<uint32_t>(p);
    if (a.kv[block * kBlockTokens + p % kBlockTokens] != expected) {
      atomicAdd(reinterpret_cast<unsigned long long*>(a.misplaced), 1);
    }
  }
  if (threadIdx.x != 0) return;
  const uint32_t random = (row * 2654435761u + static_cast<uint32_t>(length)) * 2246822519u >> 16;
  a.accepted[row] = static_cast<int32_t>(1 + random % kDraftTokens);
  a.total[row] += a.accepted[row];
}

}  // namespace

cudaError_t LaunchDraft(cudaStream_t stream, const DecodeArrays& arrays) {
  Draft<<<1, kRows * kDraftTokens, 0, stream>>>(arrays);
  return cudaGetLastError();
}

cudaError_t LaunchVerify(cudaStream_t stream, const DecodeArrays& arrays) {
  Verify<<<kRows, 128, 0, stream>>>(arrays);
  return cudaGetLastError();
}
