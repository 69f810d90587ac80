// SPDX-License-Identifier: Apache-2.0
//
// The conformance suites on the seeded scheduler.

#include "tests/conformance/all_suites.h"
#include "tests/support/sched_backend.h"

namespace kvpage::test {

KVPAGE_RUN_CONFORMANCE(Sched, SchedBackend);

}  // namespace kvpage::test
