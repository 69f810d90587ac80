// SPDX-License-Identifier: Apache-2.0
//
// A thread for each row; the plan is made by one thread.

#include "kvpage/cuda/kvpage.cuh"
#include "tests/cuda/decode_launch.h"

namespace kvpage::test {
namespace {

template <StandIn kWhich>
__global__ void Run(const __grid_constant__ DecodeStep step,
                    const __grid_constant__ PageTableStorage table) {
  const DecodeStandIn<CudaAtomics> stand_in(step, table);
  const int32_t i = static_cast<int32_t>(blockIdx.x * blockDim.x + threadIdx.x);
  if constexpr (kWhich == StandIn::kPlan) {
    if (i == 0) stand_in.Plan();
  } else if constexpr (kWhich == StandIn::kVerify) {
    if (i < step.padded_rows) stand_in.Verify(i);
  } else if (i < step.num_rows) {
    if constexpr (kWhich == StandIn::kAdopt) stand_in.Adopt(i);
    if constexpr (kWhich == StandIn::kDraft) stand_in.Draft(i);
    if constexpr (kWhich == StandIn::kFinish) stand_in.Finish(i);
  }
}

template <StandIn kWhich>
cudaError_t Launch(cudaStream_t stream, const DecodeStep& step, const PageTableStorage& table) {
  Run<kWhich><<<(step.padded_rows + 31) / 32, 32, 0, stream>>>(step, table);
  return cudaGetLastError();
}

}  // namespace

cudaError_t LaunchStandIn(cudaStream_t stream, StandIn which, const DecodeStep& step,
                          const PageTableStorage& table) {
  switch (which) {
    case StandIn::kPlan:
      return Launch<StandIn::kPlan>(stream, step, table);
    case StandIn::kAdopt:
      return Launch<StandIn::kAdopt>(stream, step, table);
    case StandIn::kDraft:
      return Launch<StandIn::kDraft>(stream, step, table);
    case StandIn::kVerify:
      return Launch<StandIn::kVerify>(stream, step, table);
    case StandIn::kFinish:
      return Launch<StandIn::kFinish>(stream, step, table);
  }
  return cudaErrorInvalidValue;
}

}  // namespace kvpage::test
