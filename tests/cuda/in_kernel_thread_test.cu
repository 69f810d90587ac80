// SPDX-License-Identifier: Apache-2.0
//
// The pool under contention in CUDA kernels, by every thread alone.

#include "tests/conformance/pool_workload_suite.h"
#include "tests/cuda/cuda_workload_backends.cuh"

namespace kvpage::test {

INSTANTIATE_TYPED_TEST_SUITE_P(CudaThread, PoolUnderContention, CudaWorkloadBackend<ThreadLanes>);

}  // namespace kvpage::test
