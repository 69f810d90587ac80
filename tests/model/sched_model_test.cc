// SPDX-License-Identifier: Apache-2.0
//
// The model test on the seeded scheduler.

#include "tests/model/model_suite.h"
#include "tests/support/sched_backend.h"

namespace kvpage::test {

INSTANTIATE_TYPED_TEST_SUITE_P(Sched, Model, SchedBackend);

}  // namespace kvpage::test
