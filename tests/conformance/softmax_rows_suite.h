// SPDX-License-Identifier: Apache-2.0
//
// tests/conformance/softmax_rows_suite.h
//
// Softmax, log-softmax and log-sum-exp of rows, on a backend of softmax, against sums in double.

#ifndef KVPAGE_TESTS_CONFORMANCE_SOFTMAX_ROWS_SUITE_H_
#define KVPAGE_TESTS_CONFORMANCE_SOFTMAX_ROWS_SUITE_H_

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/conformance/softmax_rows_fixture.h"

namespace kvpage::test {

TYPED_TEST_SUITE_P(SoftmaxOfRows);

TYPED_TEST_P(SoftmaxOfRows, SpecialValues) {
  const std::vector<double> nan3(3, kNaN);
  this->CheckRow({-kInf, -kInf, -kInf}, nan3, nan3, -kInf);
  this->CheckRow({1, kNaN, 3}, nan3, nan3, kNaN);
  this->CheckRow({1, kInf, 3}, nan3, nan3, kInf);
  this->CheckRow({kInf, kInf, 0}, nan3, nan3, kInf);
  this->CheckRow({kInf, kNaN, 0}, nan3, nan3, kNaN);
  this->CheckRow({5.25}, {1}, {0}, 5.25, 0);
  this->CheckRow({-kInf}, {kNaN}, {kNaN}, -kInf);
  this->CheckRow({kInf}, {kNaN}, {kNaN}, kInf);
  this->CheckRow({kNaN}, {kNaN}, {kNaN}, kNaN);
  this->CheckRow({3e38, -3e38, 3e38}, {.5, 0, .5}, {-.6931472, -kInf, -.6931472}, 3e38);
  this->CheckRow({1e4, 1e4 + .5, 9999}, {.33149896, .54654939, .12195165},
                 {-1.1041306, -.6041306, -2.1041306}, 10001.10413);
  this->CheckRow({-1e5, -1e5 - 1}, {.7310586, .2689414}, {-.3132617, -1.3132617}, -99999.68673);
}

// The same in rows long enough for every kernel, at either end.
TYPED_TEST_P(SoftmaxOfRows, SpecialValuesInLongRows) {
  for (const int64_t cols : {40, 500, 3000, 40000, 300000}) {
    if (!TypeParam::kOnGpu && cols > 3000) continue;
    for (const int64_t place : {int64_t{0}, cols - 1}) {
      for (const double special : {kNaN, kInf}) {
        std::vector<double> x(cols, 1);
        x[place] = special;
        const RowsResult got = this->Run({.cols = cols}, x);
        for (const double y : got.y) ASSERT_TRUE(std::isnan(y));
        EXPECT_TRUE(IsNear(got.lse[0], special, 0));
      }
      std::vector<double> x(cols, -kInf);
      RowsResult got = this->Run({.cols = cols}, x);
      EXPECT_TRUE(std::isnan(got.y[place]));
      EXPECT_EQ(got.lse[0], -kInf);
      x[place] = -7;
      got = this->Run({.cols = cols}, x);
      EXPECT_EQ(got.y[place], 1);
      EXPECT_EQ(got.y[cols / 2], 0);
      EXPECT_EQ(got.lse[0], -7);
    }
  }
}

TYPED_TEST_P(SoftmaxOfRows, DenormalsAreZeroOrThemselves) {
  const RowsResult got = this->Run({.cols = 4}, {0, -100, -103, -104});
  EXPECT_EQ(got.y[0], 1);
  for (int i = 1; i < 4; ++i) EXPECT_TRUE(got.y[i] >= 0 && got.y[i] <= 3.8e-44);
}

TYPED_TEST_P(SoftmaxOfRows, MaskedRowsAreWhatIsWanted) {
  RowsCase c = {.rows = 2, .cols = 3, .masked_row = MaskedRow::kZero};
  const std::vector<double> x = {-kInf, -kInf, -kInf, 0, 0, -kInf};
  RowsResult got = this->Run(c, x);
  EXPECT_EQ(got.y, (std::vector<double>{0, 0, 0, .5, .5, 0}));
  EXPECT_EQ(got.lse[0], -kInf);
  c.log = true;
  got = this->Run(c, x);
  EXPECT_EQ(got.y[0], -kInf);
  EXPECT_EQ(got.y[5], -kInf);
}

TYPED_TEST_P(SoftmaxOfRows, SixteenBitsAreEnoughForLargeNumbersAndSums) {
  RowsCase c = {.in = Dtype::kF16, .out = Dtype::kF16, .cols = 3};
  RowsResult got = this->Run(c, {65504, 65504, -65504});
  EXPECT_EQ(got.y, (std::vector<double>{.5, .5, 0}));
  EXPECT_TRUE(IsNear(got.lse[0], 65504.693, 1e-7));
  for (const Dtype dtype : {Dtype::kF16, Dtype::kBf16}) {
    const int64_t cols = 1 << 17;
    got = this->Run({.in = dtype, .out = dtype, .cols = cols}, std::vector<double>(cols, 2));
    EXPECT_TRUE(IsNear(got.lse[0], 2 + std::log(double(cols)), 1e-6));
    EXPECT_TRUE(IsNear(got.y[cols - 1], 1.0 / cols, 4e-3, 6e-8));
  }
}

TYPED_TEST_P(SoftmaxOfRows, EveryWidthTypeAndAlignment) {
  const auto check = [&](RowsCase c) { this->CheckAgainstReference(c, 17 * c.cols + c.x_shift); };
  for (const int64_t cols :
       {1, 2, 3, 5, 7, 8, 9, 16, 31, 32, 33, 64, 127, 128, 129, 1023, 1024, 1025, 4097, 8192}) {
    for (const Dtype dtype : {Dtype::kF32, Dtype::kF16, Dtype::kBf16}) {
      for (const bool log : {false, true}) {
        const RowsCase c = {.in = dtype, .out = dtype, .rows = 5, .cols = cols, .log = log};
        check(c);
        RowsCase moved = c;
        moved.x_shift = moved.y_gap = 1;
        moved.x_gap = 3;
        check(moved);
        RowsCase in_place = c;
        in_place.in_place = true;
        in_place.x_gap = 8;
        check(in_place);
      }
    }
  }
}

TYPED_TEST_P(SoftmaxOfRows, EveryPairOfTypes) {
  for (const Dtype in : {Dtype::kF32, Dtype::kF16, Dtype::kBf16}) {
    for (const Dtype out : {Dtype::kF32, Dtype::kF16, Dtype::kBf16}) {
      for (const int64_t cols : {5, 48, 3000, 20000}) {
        this->CheckAgainstReference({.in = in, .out = out, .rows = 2, .cols = cols}, 3);
      }
    }
  }
}

TYPED_TEST_P(SoftmaxOfRows, LongRows) {
  for (const int64_t cols : {12289, 28673, 40000, 65537, 128256, 270000, 600000}) {
    if (!TypeParam::kOnGpu && cols > 30000) continue;
    for (const Dtype dtype : {Dtype::kF32, Dtype::kBf16}) {
      this->CheckAgainstReference({.in = dtype, .out = dtype, .rows = 2, .cols = cols}, cols);
      this->CheckAgainstReference(
          {.in = dtype, .out = dtype, .rows = 1, .cols = cols, .x_shift = 1, .log = true}, cols);
    }
  }
}

TYPED_TEST_P(SoftmaxOfRows, ManyRows) {
  const int64_t times = TypeParam::kOnGpu ? 10 : 1;
  for (const int64_t cols : {3, 24, 100, 1000}) {
    this->CheckAgainstReference({.rows = 701 * times, .cols = cols}, cols);
  }
  if (!TypeParam::kOnGpu) return;
  for (const int64_t cols : {5000, 20000, 70000}) {
    this->CheckAgainstReference(
        {.in = Dtype::kBf16, .out = Dtype::kBf16, .rows = 300, .cols = cols}, cols);
  }
}

TYPED_TEST_P(SoftmaxOfRows, ScalesAndBases) {
  for (const float scale : {0.125f, 3.0f}) {
    for (const LseBase base : {LseBase::kE, LseBase::kTwo}) {
      for (const int64_t cols : {20, 200, 5000}) {
        this->CheckAgainstReference(
            {.rows = 3, .cols = cols, .log = cols == 200, .scale = scale, .lse_base = base}, 8);
      }
    }
  }
}

TYPED_TEST_P(SoftmaxOfRows, NothingToDo) {
  const RowsResult none = this->Run({.rows = 0, .cols = 7}, {});
  EXPECT_TRUE(none.y.empty());
  const RowsResult empty_rows = this->Run({.rows = 3, .cols = 0}, {});
  EXPECT_EQ(empty_rows.lse, std::vector<double>(3, -kInf));
}

TYPED_TEST_P(SoftmaxOfRows, RefusesWhatMeansNothing) {
  float memory[4] = {};
  const SoftmaxRowsArgs good = {.x = memory, .y = memory, .rows = 2, .cols = 2};
  const auto refused = [](const SoftmaxRowsArgs& args) {
    return TypeParam::Softmax(args).code() == absl::StatusCode::kInvalidArgument;
  };
  SoftmaxRowsArgs bad = good;
  bad.rows = -1;
  EXPECT_TRUE(refused(bad));
  bad = good;
  bad.in = Dtype::kE4m3;
  EXPECT_TRUE(refused(bad));
  bad = good;
  bad.y_stride = 1;
  EXPECT_TRUE(refused(bad));
  for (const float scale : {0.0f, -1.0f, static_cast<float>(kInf), static_cast<float>(kNaN)}) {
    bad = good;
    bad.scale = scale;
    EXPECT_TRUE(refused(bad));
  }
  bad = good;
  bad.x = nullptr;
  EXPECT_TRUE(refused(bad));
  bad = good;
  bad.y = reinterpret_cast<char*>(memory) + 2;
  EXPECT_TRUE(refused(bad));
}

REGISTER_TYPED_TEST_SUITE_P(SoftmaxOfRows, SpecialValues, SpecialValuesInLongRows,
                            DenormalsAreZeroOrThemselves, MaskedRowsAreWhatIsWanted,
                            SixteenBitsAreEnoughForLargeNumbersAndSums, EveryWidthTypeAndAlignment,
                            EveryPairOfTypes, LongRows, ManyRows, ScalesAndBases, NothingToDo,
                            RefusesWhatMeansNothing);

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_CONFORMANCE_SOFTMAX_ROWS_SUITE_H_
