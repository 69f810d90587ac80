// SPDX-License-Identifier: Apache-2.0
//
// What only a GPU can show of softmax: sizes beyond 2^31 and 2^32 elements, graphs, and the same
// bits beside other work.

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string_view>
#include <vector>

#include "kvpage/cuda/softmax.h"
#include "kvpage/softmax.h"
#include "tests/support/random.h"

namespace kvpage::test {
namespace {

// Under a sanitizer large cases would take hours.
bool IsSmallRun() {
  const char* small = std::getenv("KVPAGE_TEST_SMALL");
  return small != nullptr && std::string_view(small) == "1";
}

// Device memory of any size, or none if the GPU has too little.
class Memory {
 public:
  explicit Memory(size_t bytes) {
    if (cudaMalloc(&memory_, bytes) != cudaSuccess) {
      memory_ = nullptr;
      cudaGetLastError();
    }
  }
  ~Memory() { cudaFree(memory_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  char* get() const { return static_cast<char*>(memory_); }
  template <class T>
  T* as() const {
    return static_cast<T*>(memory_);
  }

 private:
  void* memory_ = nullptr;
};

template <class T>
std::vector<T> Read(const void* from, size_t count) {
  std::vector<T> values(count);
  EXPECT_EQ(cudaMemcpy(values.data(), from, count * sizeof(T), cudaMemcpyDeviceToHost),
            cudaSuccess);
  return values;
}
template <class T>
void Write(void* to, const std::vector<T>& values) {
  EXPECT_EQ(cudaMemcpy(to, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice),
            cudaSuccess);
}
float OfBf16(uint16_t bits) {
  const uint32_t word = uint32_t{bits} << 16;
  float f;
  std::memcpy(&f, &word, sizeof(f));
  return f;
}

const StreamRef kStream = StreamRef::Default();

// Bytes of 0 are rows of equal logits; the last row has a 3 in front.
TEST(SoftmaxOnGpu, MoreThan2To32Elements) {
  constexpr int64_t kRows = 669 * 128, kCols = 50259;
  constexpr size_t kBytes = size_t{kRows} * kCols * 2;
  if (IsSmallRun()) return;
  const Memory x(kBytes), lse(kRows * 4);
  if (x.get() == nullptr) GTEST_SKIP() << "too little memory";
  cudaMemset(x.get(), 0, kBytes);
  char* const last = x.get() + (kRows - 1) * kCols * 2;
  Write<uint16_t>(last, {0x4040});
  ASSERT_TRUE(SoftmaxRows(kStream,
                          {.x = x.get(),
                           .in = Dtype::kBf16,
                           .y = x.get(),
                           .out = Dtype::kBf16,
                           .lse = lse.as<float>(),
                           .rows = kRows,
                           .cols = kCols},
                          {})
                  .ok());
  const double sum = kCols - 1 + std::exp(3.0);
  const std::vector<uint16_t> y = Read<uint16_t>(last, kCols);
  EXPECT_NEAR(OfBf16(y[0]) * sum, std::exp(3.0), .08);
  EXPECT_NEAR(OfBf16(y[kCols - 1]) * sum, 1, .004);
  EXPECT_NEAR(OfBf16(Read<uint16_t>(last - 2, 1)[0]) * kCols, 1, .004);
  EXPECT_NEAR(Read<float>(lse.as<float>() + kRows - 1, 1)[0], std::log(sum), 1e-5);
  EXPECT_NEAR(Read<float>(lse.get(), 1)[0], std::log(double(kCols)), 1e-5);
}

TEST(SoftmaxOnGpu, ARowOfMoreThan2To31Elements) {
  if (IsSmallRun()) return;
  for (const int64_t cols : {(int64_t{1} << 31) - 1, (int64_t{1} << 31) + 5, int64_t{1} << 31}) {
    const Memory x(static_cast<size_t>(cols) * 2), lse(4);
    const size_t bytes = SoftmaxRowsWorkspaceBytes(1, cols, Dtype::kBf16);
    const Memory workspace(bytes);
    if (x.get() == nullptr) GTEST_SKIP() << "too little memory";
    cudaMemset(x.get(), 0, static_cast<size_t>(cols) * 2);
    Write<uint16_t>(x.get() + (cols - 1) * 2, {0x41a0});  // 20 at the end
    ASSERT_TRUE(SoftmaxRows(kStream,
                            {.x = x.get(),
                             .in = Dtype::kBf16,
                             .y = x.get(),
                             .out = Dtype::kBf16,
                             .lse = lse.as<float>(),
                             .rows = 1,
                             .cols = cols},
                            {workspace.get(), bytes})
                    .ok());
    const double sum = static_cast<double>(cols - 1) + std::exp(20.0);
    EXPECT_NEAR(Read<float>(lse.get(), 1)[0], std::log(sum), 1e-5);
    EXPECT_NEAR(OfBf16(Read<uint16_t>(x.get() + (cols - 1) * 2, 1)[0]), std::exp(20.0) / sum, 1e-3);
    EXPECT_NEAR(OfBf16(Read<uint16_t>(x.get(), 1)[0]) * sum, 1, .004);
    EXPECT_NEAR(OfBf16(Read<uint16_t>(x.get() + (cols - 2) * 2, 1)[0]) * sum, 1, .004);
  }
}

// More rows than a grid could have thread blocks, if each took a row: 2^31 / 64 + 1 and 2^27 of 3.
TEST(SoftmaxOnGpu, VeryManyRows) {
  if (IsSmallRun()) return;
  for (const auto& [rows, cols] :
       {std::pair<int64_t, int64_t>{(int64_t{1} << 25) + 1, 64}, {(int64_t{1} << 27) + 1, 3}}) {
    const size_t bytes = static_cast<size_t>(rows * cols) * 2;
    const Memory x(bytes);
    if (x.get() == nullptr) GTEST_SKIP() << "too little memory";
    cudaMemset(x.get(), 0, bytes);
    ASSERT_TRUE(SoftmaxRows(kStream,
                            {.x = x.get(),
                             .in = Dtype::kBf16,
                             .y = x.get(),
                             .out = Dtype::kBf16,
                             .rows = rows,
                             .cols = cols},
                            {})
                    .ok());
    for (const int64_t i : {int64_t{0}, rows * cols / 2, rows * cols - 1}) {
      EXPECT_NEAR(OfBf16(Read<uint16_t>(x.get() + i * 2, 1)[0]) * cols, 1, .004);
    }
  }
}

TEST(SoftmaxOnGpu, MergesOfMoreThan2To32Elements) {
  if (IsSmallRun()) return;
  constexpr int32_t kDim = 128;
  for (const auto& [tokens, heads] :
       {std::pair<int64_t, int32_t>{1048580, 32}, {262152, 128}, {70000, 1}}) {
    const int64_t rows = tokens * heads;
    const size_t bytes = static_cast<size_t>(rows) * kDim * 2;
    const Memory a(bytes), b(bytes), lse(static_cast<size_t>(rows) * 8);
    if (a.get() == nullptr || b.get() == nullptr) GTEST_SKIP() << "too little memory";
    cudaMemset(a.get(), 0x40, bytes);  // 3.0039
    cudaMemset(b.get(), 0, bytes);
    cudaMemset(lse.get(), 0, static_cast<size_t>(rows) * 8);
    float* const a_lse = lse.as<float>();
    float* const b_lse = a_lse + rows;
    Write<float>(b_lse + rows - 1, {std::log(2.0f)});
    ASSERT_TRUE(MergePair(kStream, {.a = {a.get(), a_lse, {}},
                                    .b = {b.get(), b_lse, {}},
                                    .merged = {a.get(), a_lse, {}},
                                    .in = Dtype::kBf16,
                                    .out = Dtype::kBf16,
                                    .tokens = tokens,
                                    .heads = heads,
                                    .dim = kDim})
                    .ok());
    const float value = OfBf16(0x4040);
    EXPECT_NEAR(OfBf16(Read<uint16_t>(a.get(), 1)[0]), value / 2, .01);
    EXPECT_NEAR(OfBf16(Read<uint16_t>(a.get() + (rows - 1) * kDim * 2 - 2, 1)[0]), value / 2, .01);
    EXPECT_NEAR(OfBf16(Read<uint16_t>(a.get() + rows * kDim * 2 - 2, 1)[0]), value / 3, .01);
    EXPECT_NEAR(Read<float>(a_lse + rows - 1, 1)[0], std::log(3.0), 1e-6);
    EXPECT_NEAR(Read<float>(a_lse + rows - 2, 1)[0], std::log(2.0), 1e-6);
    ASSERT_TRUE(MergeStates(kStream, MergeStatesArgs{.o = b.get(),
                                                     .lse = b_lse,
                                                     .k = 2,
                                                     .merged_o = a.get(),
                                                     .merged_lse = a_lse,
                                                     .in = Dtype::kBf16,
                                                     .out = Dtype::kBf16,
                                                     .tokens = tokens / 2,
                                                     .heads = heads,
                                                     .dim = kDim})
                    .ok());
    EXPECT_NEAR(Read<float>(a_lse + tokens / 2 * heads - 1, 1)[0], std::log(3.0), 1e-6);
  }
}

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
