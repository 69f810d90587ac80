// SPDX-License-Identifier: Apache-2.0
//
// The conformance suites on a GPU.

#include "tests/conformance/all_suites.h"
#include "tests/support/cuda_backend.h"

namespace kvpage::test {

KVPAGE_RUN_CONFORMANCE(Cuda, CudaBackend);

}  // namespace kvpage::test
