// SPDX-License-Identifier: Apache-2.0
//
// Thousands of speculative decode steps on the CPU, every token's KV checked in each. The GPU runs
// the same steps as one graph (tests/cuda/decode_graph_test.cc).

#include <gtest/gtest.h>

#include "tests/support/backend.h"
#include "tests/support/decode_run.h"

namespace kvpage::test {
namespace {

TEST(DecodeSteps, EveryTokenIsWhereTheTableSays) {
  CacheDriver cpu = Drive<CpuBackend>(kDecodeOptions);
  DecodeRun run(cpu, RunStandInOnCpu);
  constexpr uint64_t kSteps = 3000;
  for (uint64_t i = 0; i < kSteps; ++i) run.EnqueueStep();
  run.Check(kSteps);
}

}  // namespace
}  // namespace kvpage::test
