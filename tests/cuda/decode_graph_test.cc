// SPDX-License-Identifier: Apache-2.0
//
// A whole speculative decode step in one CUDA graph: rows that end are closed and forked anew,
// drafts are opened, tables exported, drafted tokens verified, and as many committed as the device
// has counted. Replayed thousands of times with no host in between; then every token must lie where
// the table says, and the state must be that of the CPU after the same steps.

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include "tests/cuda/captured_graph.h"
#include "tests/cuda/decode_launch.h"
#include "tests/support/cuda_backend.h"
#include "tests/support/decode_run.h"

namespace kvpage::test {
namespace {

void RunStandInOnGpu(StreamRef stream, StandIn which, const DecodeStep& step,
                     const PageTableStorage& table) {
  EXPECT_EQ(LaunchStandIn(stream.get(), which, step, table), cudaSuccess);
}

TEST(DecodeGraph, ThousandsOfStepsWithoutTheHost) {
  CacheDriver gpu = Drive<CudaBackend>(kDecodeOptions);
  DecodeRun run(gpu, RunStandInOnGpu);
  ASSERT_TRUE(gpu.cache().Synchronize(gpu.stream()).ok());
  CapturedGraph graph([&](StreamRef) { run.EnqueueStep(); });
  constexpr uint64_t kSteps = 5000;
  for (uint64_t i = 0; i < kSteps; ++i) graph.Replay();
  ASSERT_TRUE(gpu.cache().Synchronize(gpu.stream()).ok());
  run.Check(kSteps);

  CacheDriver cpu = Drive<CpuBackend>(kDecodeOptions);
  DecodeRun expected(cpu, RunStandInOnCpu);
  for (uint64_t i = 0; i < kSteps; ++i) expected.EnqueueStep();
  EXPECT_EQ(run.counts(), expected.counts());
  EXPECT_EQ(run.lengths(), expected.lengths());
  EXPECT_EQ(gpu.Hash(), cpu.Hash());
}

}  // namespace
}  // namespace kvpage::test
