// SPDX-License-Identifier: Apache-2.0
//
// What only a GPU can show of softmax: graphs, and the same bits beside other work.

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

#include "kvpage/cuda/softmax.h"
#include "kvpage/softmax.h"
#include "tests/cuda/softmax_memory.h"
#include "tests/support/random.h"

namespace kvpage::test {
namespace {

struct Sums {
  std::vector<float> x;
  Memory input;
  Memory result{8};
  Memory workspace{DenominatorWorkspaceBytes()};

  explicit Sums(size_t n) : x(n), input(n * 4) {
    Random random(1);
    for (float& v : x) v = static_cast<float>(random.Below(1 << 20)) * 0x1p-16f;
    Write(input.get(), x);
    cudaMemset(workspace.get(), 0, DenominatorWorkspaceBytes());
  }
  DenominatorArgs Args(DenominatorMethod method, int32_t max_blocks = 0) const {
    return {.x = input.get(),
            .n = static_cast<int64_t>(x.size()),
            .max = result.as<float>(),
            .sum = result.as<float>() + 1,
            .method = method,
            .max_blocks = max_blocks};
  }
  Workspace workspace_ref() const { return {workspace.get(), DenominatorWorkspaceBytes()}; }
};

// Runs of several launch shapes, while another stream keeps a changing part of the GPU busy: the
// same sum, bit for bit.
TEST(SoftmaxOnGpu, FixedOrderIsFixedBesideOtherWork) {
  const Sums sums(3 << 20), other(1 << 20);
  cudaStream_t second = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking), cudaSuccess);
  std::set<std::pair<float, float>> results;
  for (int run = 0; run < (IsSmallRun() ? 10 : 1000); ++run) {
    const int32_t max_blocks = run % 3 == 0 ? 0 : run % 257;
    ASSERT_TRUE(Denominator(StreamRef(second), other.Args(DenominatorMethod::kWarpShuffle),
                            other.workspace_ref())
                    .ok());
    ASSERT_TRUE(Denominator(kStream, sums.Args(DenominatorMethod::kFixedOrder, max_blocks),
                            sums.workspace_ref())
                    .ok());
    const std::vector<float> r = Read<float>(sums.result.get(), 2);
    results.insert({r[0], r[1]});
  }
  EXPECT_EQ(results.size(), 1u);
  float max = 0, sum = 0;
  ASSERT_TRUE(Denominator({.x = sums.x.data(), .n = 3 << 20, .max = &max, .sum = &sum}).ok());
  EXPECT_EQ(results.begin()->first, max);
  EXPECT_NEAR(results.begin()->second / sum, 1, 1e-6);
  cudaStreamDestroy(second);
}

// Every call in one graph, replayed; inputs are read when it runs.
TEST(SoftmaxOnGpu, EveryCallCanBeCaptured) {
  Sums sums(1 << 20);
  constexpr int64_t kLongCols = 1 << 20;
  const size_t bytes = SoftmaxRowsWorkspaceBytes(1, kLongCols, Dtype::kF32);
  const Memory y(kLongCols * 4), lse(1 << 16), workspace(bytes), o(1 << 20), indptr(1024);
  cudaMemset(lse.get(), 0, 1 << 16);
  cudaMemset(o.get(), 0, 1 << 20);
  Write<int32_t>(indptr.get(), {0, 3, 7});
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  const StreamRef ref(stream);
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  using enum DenominatorMethod;
  for (const DenominatorMethod method : {kWarpShuffle, kFixedOrder}) {
    EXPECT_TRUE(Denominator(ref, sums.Args(method), sums.workspace_ref()).ok());
  }
  for (const int64_t cols :
       {int64_t{7}, int64_t{1024}, int64_t{8192}, int64_t{131072}, kLongCols}) {
    const SoftmaxRowsArgs args = {
        .x = sums.input.get(), .y = y.get(), .lse = lse.as<float>(), .rows = 1, .cols = cols};
    EXPECT_TRUE(SoftmaxRows(ref, args, {workspace.get(), bytes}).ok()) << cols;
  }
  const ConstStates a = {o.get(), lse.as<float>() + 64, {}};
  EXPECT_TRUE(MergePair(ref, {.a = a,
                              .b = a,
                              .merged = {o.get() + 4096, lse.as<float>() + 128, {}},
                              .tokens = 2,
                              .heads = 2,
                              .dim = 64})
                  .ok());
  EXPECT_TRUE(MergeStates(ref, MergeStatesCsrArgs<int32_t>{.o = o.get(),
                                                           .lse = lse.as<float>() + 64,
                                                           .indptr = indptr.as<int32_t>(),
                                                           .merged_o = o.get() + 65536,
                                                           .merged_lse = lse.as<float>() + 192,
                                                           .max_tokens = 2,
                                                           .heads = 2,
                                                           .dim = 64})
                  .ok());
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  size_t nodes = 0;
  EXPECT_EQ(cudaGraphGetNodes(graph, nullptr, &nodes), cudaSuccess);
  EXPECT_EQ(nodes, 10u);  // the longest row has two
  cudaGraphExec_t executable = nullptr;
  ASSERT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaSuccess);
  for (int replay = 0; replay < 3; ++replay) {
    for (float& v : sums.x) v = v / 2;
    Write(sums.input.get(), sums.x);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    ASSERT_EQ(cudaGraphLaunch(executable, stream), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    float want[2];
    ASSERT_TRUE(Denominator({.x = sums.x.data(), .n = 1 << 20, .max = want, .sum = want + 1}).ok());
    const std::vector<float> got = Read<float>(sums.result.get(), 2);
    EXPECT_EQ(got[0], want[0]);
    EXPECT_NEAR(got[1] / want[1], 1, 1e-5);
    EXPECT_NEAR(Read<float>(lse.get(), 1)[0], want[0] + std::log(want[1]), 1e-4);
    EXPECT_NEAR(Read<float>(lse.as<float>() + 192, 3)[2], std::log(4.0), 1e-6);
  }
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(graph);
  cudaStreamDestroy(stream);
}

TEST(SoftmaxOnGpu, AWorkspaceThatIsTooSmallIsRefused) {
  float* const anything = reinterpret_cast<float*>(64);
  EXPECT_EQ(
      Denominator(kStream, {.x = anything, .n = 1, .max = anything, .sum = anything}, {}).code(),
      absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(
      SoftmaxRows(kStream, {.x = anything, .y = anything, .rows = 1, .cols = 1 << 24}, {}).code(),
      absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(SoftmaxRowsWorkspaceBytes(65536, 1024, Dtype::kF32), 0u);
}

}  // namespace
}  // namespace kvpage::test
