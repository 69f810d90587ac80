// SPDX-License-Identifier: Apache-2.0
//
// The model test on an emulated warp.

#include "tests/model/model_suite.h"
#include "tests/support/emulated_backend.h"

namespace kvpage::test {

INSTANTIATE_TYPED_TEST_SUITE_P(Emulated, Model, EmulatedWarpBackend);

}  // namespace kvpage::test
