// SPDX-License-Identifier: Apache-2.0

#include "bench/decode_kernels.h"

#include "bench/gpu_spin.h"

namespace kvpage::bench {
namespace {

constexpr int32_t kThreads = 256;
constexpr int32_t kWarpThreads = 32;

__device__ uint32_t Mark(int32_t row, int32_t position) {
  return static_cast<uint32_t>(row) * 65537u + static_cast<uint32_t>(position) + 1;
}

__device__ int32_t CommittedTokens(const DecodeStep& step, int32_t row) {
  return step.lengths[row] - (step.with_draft ? kDraftTokens : 0);
}

__device__ uint32_t* MarkOf(const DecodeStep& step, int32_t row, int32_t position) {
  const int64_t block = step.table[int64_t{row} * kDecodeRowBlocks + position / kDecodeBlockTokens];
  return &step.marks[block * kDecodeBlockTokens + position % kDecodeBlockTokens];
}

// A thread for each draft token.
__global__ void Draft(const __grid_constant__ DecodeStep step) {
  const int32_t i = static_cast<int32_t>(blockIdx.x * blockDim.x + threadIdx.x);
  const int32_t row = i / kDraftTokens;
  if (row >= step.num_rows) return;
  const int32_t committed = CommittedTokens(step, row);
  if (committed < 0) return;  // told by the verify kernel
  const int32_t position = committed + i % kDraftTokens;
  *MarkOf(step, row, position) = Mark(row, position);
}

// A warp for each row. Looks at the marks of the draft, and at that of the first token of every
// block behind the prompt.
__global__ void Verify(const __grid_constant__ DecodeStep step) {
  const int32_t thread = static_cast<int32_t>(blockIdx.x * blockDim.x + threadIdx.x);
  const int32_t row = thread / kWarpThreads;
  const int32_t lane = thread % kWarpThreads;
  if (row >= step.num_rows) return;
  const int32_t committed = CommittedTokens(step, row);
  __syncwarp();  // before the length is changed
  bool ok = committed >= 0;
  const int32_t end = ok ? committed + kDraftTokens : 0;
  for (int32_t position = lane * kDecodeBlockTokens; position < end;
       position += kWarpThreads * kDecodeBlockTokens) {
    const uint32_t mark = *MarkOf(step, row, position);
    ok &= position < StartTokens(row) || mark == Mark(row, position);
  }
  if (ok && lane < kDraftTokens) {
    ok = *MarkOf(step, row, committed + lane) == Mark(row, committed + lane);
  }
  if (!ok) atomicAdd(step.errors, 1u);
  if (lane != 0) return;
  const uint64_t number = step.epoch_word != nullptr ? *step.epoch_word - 1 : step.step;
  const int32_t accepted = AcceptedTokens(row, number % kDecodeSteps);
  step.accepted[row] = accepted;
  if (step.advance) step.lengths[row] = committed + accepted;
}

uint32_t GridFor(int32_t threads) { return (threads + kThreads - 1) / kThreads; }

}  // namespace

cudaError_t LaunchModel(cudaStream_t stream, const DecodeStep& step) {
  Draft<<<GridFor(step.num_rows * kDraftTokens), kThreads, 0, stream>>>(step);
  if (step.model_clocks > 0) LaunchSpin(stream, step.model_clocks);
  Verify<<<GridFor(step.num_rows * kWarpThreads), kThreads, 0, stream>>>(step);
  return cudaGetLastError();
}

}  // namespace kvpage::bench
