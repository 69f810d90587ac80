// SPDX-License-Identifier: Apache-2.0
//
// The conformance suites on the CPU.

#include "tests/conformance/all_suites.h"
#include "tests/support/backend.h"

namespace kvpage::test {

KVPAGE_RUN_CONFORMANCE(Cpu, CpuBackend);

}  // namespace kvpage::test
