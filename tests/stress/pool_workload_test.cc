// SPDX-License-Identifier: Apache-2.0
//
// The pool under contention, on CPU threads and in emulated warps and thread blocks.

#include "tests/conformance/cpu_workload_backends.h"
#include "tests/conformance/pool_workload_suite.h"

namespace kvpage::test {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(CpuThreads, PoolUnderContention, CpuThreadBackend);
INSTANTIATE_TYPED_TEST_SUITE_P(YieldingThreads, PoolUnderContention, YieldingThreadBackend);
INSTANTIATE_TYPED_TEST_SUITE_P(EmulatedWarps, PoolUnderContention, EmulatedBackend);

}  // namespace
}  // namespace kvpage::test
