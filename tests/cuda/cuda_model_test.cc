// SPDX-License-Identifier: Apache-2.0
//
// The model test on a GPU.

#include "tests/model/model_suite.h"
#include "tests/support/cuda_backend.h"

namespace kvpage::test {

INSTANTIATE_TYPED_TEST_SUITE_P(Cuda, Model, CudaBackend);
INSTANTIATE_TYPED_TEST_SUITE_P(Cuda, LargeModel, CudaBackend);

}  // namespace kvpage::test
