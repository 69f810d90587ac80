// SPDX-License-Identifier: Apache-2.0

#include "kvpage/softmax.h"

#include "tests/conformance/softmax_denominator_suite.h"
#include "tests/conformance/softmax_merge_suite.h"
#include "tests/conformance/softmax_rows_suite.h"
#include "tests/support/softmax_backend.h"

namespace kvpage::test {

INSTANTIATE_TYPED_TEST_SUITE_P(Cpu, SoftmaxDenominator, CpuSoftmax);
INSTANTIATE_TYPED_TEST_SUITE_P(Cpu, SoftmaxOfRows, CpuSoftmax);
INSTANTIATE_TYPED_TEST_SUITE_P(Cpu, SoftmaxMerge, CpuSoftmax);

}  // namespace kvpage::test
