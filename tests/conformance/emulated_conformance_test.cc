// SPDX-License-Identifier: Apache-2.0
//
// The conformance suites on an emulated warp.

#include "tests/conformance/all_suites.h"
#include "tests/support/emulated_backend.h"

namespace kvpage::test {

KVPAGE_RUN_CONFORMANCE(Emulated, EmulatedWarpBackend);

}  // namespace kvpage::test
