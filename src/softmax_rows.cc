// SPDX-License-Identifier: Apache-2.0
//
// Denominators and rows on the CPU: a pass for the maximum, one for the sum, one for the results.

#include <cmath>
#include <limits>

#include "kvpage/softmax.h"
#include "src/dtype_convert.h"

namespace kvpage {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// `count` elements of an array, from element `begin`.
struct Elements {
  const void* array;
  Dtype dtype;
  int64_t begin;
  int64_t count;
  double scale;

  double operator[](int64_t i) const { return scale * ReadElement(array, dtype, begin + i); }
};

// Of the elements that are not NaN.
double MaxOf(const Elements& x) {
  double max = -kInfinity;
  for (int64_t i = 0; i < x.count; ++i) max = std::fmax(max, x[i]);
  return max;
}

double SumOf(const Elements& x, double max) {
  if (max == kInfinity) return kNan;
  const double anchor = max == -kInfinity ? 0 : max;
  double sum = 0;
  for (int64_t i = 0; i < x.count; ++i) sum += std::exp(x[i] - anchor);
  return sum;
}

double LseOf(const Elements& x, double max, double sum) {
  if (max != kInfinity) return max + std::log(sum);
  for (int64_t i = 0; i < x.count; ++i) {
    if (std::isnan(x[i])) return kNan;
  }
  return kInfinity;
}

// The result of one element; y may be where x is, so x is read before y is written.
double ResultOf(double x, double max, double sum, bool log, MaskedRow masked_row) {
  if (sum == 0) {  // nothing but -inf
    if (masked_row == MaskedRow::kNan) return kNan;
    return log ? -kInfinity : 0;
  }
  if (std::isnan(sum)) return kNan;
  return log ? x - max - std::log(sum) : std::exp(x - max) / sum;
}

absl::Status Rows(SoftmaxRowsArgs args, bool log) {
  absl::Status status = Prepare(args);
  if (!status.ok()) return status;
  for (int64_t row = 0; row < args.rows; ++row) {
    const Elements x = {args.x, args.in, row * args.x_stride, args.cols, args.scale};
    const double max = MaxOf(x);
    const double sum = SumOf(x, max);
    if (args.lse != nullptr) {
      const double to_base = args.lse_base == LseBase::kTwo ? std::log2(std::exp(1.0)) : 1;
      args.lse[row] = static_cast<float>(LseOf(x, max, sum) * to_base);
    }
    if (args.y == nullptr) continue;
    for (int64_t i = 0; i < args.cols; ++i) {
      WriteElement(args.y, args.out, row * args.y_stride + i,
                   ResultOf(x[i], max, sum, log, args.masked_row));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status Denominator(const DenominatorArgs& given) {
  DenominatorArgs args = given;
  absl::Status status = Prepare(args);
  if (!status.ok()) return status;
  const Elements x = {args.x, args.dtype, 0, args.n, 1};
  const double max = args.given_max != nullptr ? *args.given_max : MaxOf(x);
  *args.max = static_cast<float>(max);
  *args.sum = static_cast<float>(SumOf(x, max));
  return absl::OkStatus();
}

absl::Status SoftmaxRows(const SoftmaxRowsArgs& args) { return Rows(args, false); }
absl::Status LogSoftmaxRows(const SoftmaxRowsArgs& args) { return Rows(args, true); }
absl::Status LogSumExpRows(const LogSumExpRowsArgs& args) { return Rows(RowsOf(args), false); }

}  // namespace kvpage
