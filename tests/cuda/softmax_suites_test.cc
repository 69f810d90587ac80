// SPDX-License-Identifier: Apache-2.0

#include "tests/conformance/softmax_denominator_suite.h"
#include "tests/conformance/softmax_merge_suite.h"
#include "tests/conformance/softmax_rows_suite.h"
#include "tests/support/cuda_softmax_backend.h"

namespace kvpage::test {

INSTANTIATE_TYPED_TEST_SUITE_P(Cuda, SoftmaxDenominator, CudaSoftmax);
INSTANTIATE_TYPED_TEST_SUITE_P(Cuda, SoftmaxOfRows, CudaSoftmax);
INSTANTIATE_TYPED_TEST_SUITE_P(Cuda, SoftmaxMerge, CudaSoftmax);

}  // namespace kvpage::test
