// SPDX-License-Identifier: Apache-2.0
//
// tests/cuda/decode_launch.h
//
// The stand-ins of a decode step (tests/support/decode_step.h) as kernels.

#ifndef KVPAGE_TESTS_CUDA_DECODE_LAUNCH_H_
#define KVPAGE_TESTS_CUDA_DECODE_LAUNCH_H_

#include <cuda_runtime_api.h>

#include "kvpage/core/page_table_storage.h"
#include "tests/support/decode_step.h"

namespace kvpage::test {

cudaError_t LaunchStandIn(cudaStream_t stream, StandIn which, const DecodeStep& step,
                          const PageTableStorage& table);

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_CUDA_DECODE_LAUNCH_H_
