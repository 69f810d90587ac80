// SPDX-License-Identifier: Apache-2.0
//
// tests/conformance/softmax_rows_fixture.h
//
// Runs one case of softmax of rows on a backend, and compares it with sums in double.

#ifndef KVPAGE_TESTS_CONFORMANCE_SOFTMAX_ROWS_FIXTURE_H_
#define KVPAGE_TESTS_CONFORMANCE_SOFTMAX_ROWS_FIXTURE_H_

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/conformance/softmax_denominator_suite.h"

namespace kvpage::test {

struct RowsCase {
  Dtype in = Dtype::kF32;
  Dtype out = Dtype::kF32;
  int64_t rows = 1;
  int64_t cols = 0;
  int64_t x_gap = 0;  // elements between rows
  int64_t y_gap = 0;
  size_t x_shift = 0;  // elements before the first
  size_t y_shift = 0;
  bool in_place = false;
  bool log = false;
  float scale = 1;
  LseBase lse_base = LseBase::kE;
  MaskedRow masked_row = MaskedRow::kNan;
};

struct RowsResult {
  std::vector<double> y;  // without the gaps
  std::vector<double> lse;
};

template <class Backend>
class SoftmaxOfRows : public testing::Test {
 protected:
  static RowsResult Run(const RowsCase& c, const std::vector<double>& x) {
    const auto spread = [&](const std::vector<double>& dense, int64_t gap) {
      std::vector<double> all(static_cast<size_t>(c.rows * (c.cols + gap)), 77);
      for (int64_t r = 0; r < c.rows; ++r) {
        for (int64_t i = 0; i < c.cols; ++i) all[r * (c.cols + gap) + i] = dense[r * c.cols + i];
      }
      return all;
    };
    typename Backend::Array input(Encode(c.in, spread(x, c.x_gap)), c.x_shift * BytesOf(c.in));
    const std::vector<double> blank(static_cast<size_t>(c.rows * c.cols), 55);
    typename Backend::Array output(Encode(c.out, spread(blank, c.y_gap)),
                                   c.y_shift * BytesOf(c.out));
    typename Backend::Array lse(Encode(Dtype::kF32, std::vector<double>(c.rows, 7)), 0);
    typename Backend::Array& y = c.in_place ? input : output;
    const int64_t y_gap = c.in_place ? c.x_gap : c.y_gap;
    const SoftmaxRowsArgs args = {.x = input.get(),
                                  .in = c.in,
                                  .x_stride = c.cols + c.x_gap,
                                  .y = y.get(),
                                  .out = c.out,
                                  .y_stride = c.cols + y_gap,
                                  .lse = static_cast<float*>(lse.get()),
                                  .lse_base = c.lse_base,
                                  .rows = c.rows,
                                  .cols = c.cols,
                                  .scale = c.scale,
                                  .masked_row = c.masked_row};
    const absl::Status status = c.log ? Backend::LogSoftmax(args) : Backend::Softmax(args);
    EXPECT_TRUE(status.ok()) << status;
    const std::vector<double> all = Decode(c.out, y.Download());
    RowsResult result;
    for (int64_t i = 0; i < static_cast<int64_t>(all.size()); ++i) {
      if (i % (c.cols + y_gap) < c.cols) {
        result.y.push_back(all[i]);
      } else {
        EXPECT_EQ(all[i], 77) << "written between the rows";
      }
    }
    result.lse = Decode(Dtype::kF32, lse.Download());
    // The log-sum-exp alone is the same number.
    const absl::Status alone =
        Backend::Run(LogSumExpRowsArgs{.x = c.in_place ? nullptr : input.get(),
                                       .in = c.in,
                                       .x_stride = c.cols + c.x_gap,
                                       .lse = static_cast<float*>(lse.get()),
                                       .lse_base = c.lse_base,
                                       .rows = c.in_place ? 0 : c.rows,
                                       .cols = c.cols,
                                       .scale = c.scale});
    EXPECT_TRUE(alone.ok()) << alone;
    const std::vector<double> again = Decode(Dtype::kF32, lse.Download());
    for (size_t r = 0; r < again.size(); ++r) EXPECT_TRUE(IsNear(again[r], result.lse[r], 1e-6));
    return result;
  }

  static void CheckAgainstReference(const RowsCase& c, uint64_t seed) {
    Random random(seed);
    std::vector<double> x(static_cast<size_t>(c.rows * c.cols));
    for (double& v : x) v = random.Below(1 << 20) * std::pow(2.0, -16) - 8;
    x = Rounded(c.in, x);
    const RowsResult got = Run(c, x);
    const double ulp = c.out == Dtype::kF32 ? 2e-6 : (c.out == Dtype::kF16 ? 9.8e-4 : 7.9e-3);
    int64_t wrong = 0;
    for (int64_t r = 0; r < c.rows; ++r) {
      double max = -kInf;
      double sum = 0;
      for (int64_t i = 0; i < c.cols; ++i) max = std::fmax(max, c.scale * x[r * c.cols + i]);
      for (int64_t i = 0; i < c.cols; ++i) sum += std::exp(c.scale * x[r * c.cols + i] - max);
      const double lse = max + std::log(sum);
      for (int64_t i = 0; i < c.cols; ++i) {
        const double log = c.scale * x[r * c.cols + i] - lse;
        const double want = c.log ? log : std::exp(log);
        // Within one unit in the last place of the right number, for f16 also of its denormals.
        const double least = c.out == Dtype::kF16 ? 6e-8 : 1e-37;
        // A difference has half a unit in its own last place, whatever is computed from it.
        const double from_x = 1.2e-7 * std::fabs(log);
        if (!IsNear(got.y[r * c.cols + i], want, ulp + from_x, c.log ? 4e-6 : least)) ++wrong;
      }
      const double in_base = c.lse_base == LseBase::kTwo ? lse / std::log(2.0) : lse;
      EXPECT_TRUE(IsNear(got.lse[r], in_base, 2e-6, 2e-6)) << got.lse[r] << " for " << in_base;
    }
    EXPECT_EQ(wrong, 0) << c.rows << " x " << c.cols << " from " << static_cast<int>(c.in) << " to "
                        << static_cast<int>(c.out) << " log " << c.log << " x_shift " << c.x_shift;
  }

  static void CheckRow(const std::vector<double>& x, const std::vector<double>& softmax,
                       const std::vector<double>& log_softmax, double lse,
                       double tolerance = 1e-6) {
    RowsCase c = {.cols = static_cast<int64_t>(x.size())};
    for (const bool log : {false, true}) {
      c.log = log;
      const RowsResult got = Run(c, x);
      const std::vector<double>& want = log ? log_softmax : softmax;
      for (size_t i = 0; i < x.size(); ++i) {
        EXPECT_TRUE(IsNear(got.y[i], want[i], tolerance, 1e-40)) << got.y[i] << " for " << want[i];
      }
      EXPECT_TRUE(IsNear(got.lse[0], lse, 1e-7)) << got.lse[0] << " for " << lse;
    }
  }
};

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_CONFORMANCE_SOFTMAX_ROWS_FIXTURE_H_
