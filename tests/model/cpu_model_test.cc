// SPDX-License-Identifier: Apache-2.0
//
// The model test on the CPU.

#include "tests/model/model_suite.h"
#include "tests/support/backend.h"

namespace kvpage::test {

INSTANTIATE_TYPED_TEST_SUITE_P(Cpu, Model, CpuBackend);
INSTANTIATE_TYPED_TEST_SUITE_P(Cpu, LargeModel, CpuBackend);

}  // namespace kvpage::test
