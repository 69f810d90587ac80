// SPDX-License-Identifier: Apache-2.0
//
// Softmax and merges beyond 2^31 and 2^32 elements.

#include <cmath>
#include <utility>
#include <vector>

#include "kvpage/cuda/softmax.h"
#include "tests/cuda/softmax_memory.h"

namespace kvpage::test {
namespace {

// Bytes of 0 are rows of equal logits; the last row has a 3 in front.
TEST(SoftmaxSizes, MoreThan2To32Elements) {
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

TEST(SoftmaxSizes, ARowOfMoreThan2To31Elements) {
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
TEST(SoftmaxSizes, VeryManyRows) {
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

TEST(SoftmaxSizes, MergesOfMoreThan2To32Elements) {
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

}  // namespace
}  // namespace kvpage::test
