// SPDX-License-Identifier: Apache-2.0
//
// tests/conformance/softmax_denominator_suite.h
//
// Denominators, in every method and type, on a backend of softmax.

#ifndef KVPAGE_TESTS_CONFORMANCE_SOFTMAX_DENOMINATOR_SUITE_H_
#define KVPAGE_TESTS_CONFORMANCE_SOFTMAX_DENOMINATOR_SUITE_H_

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include "absl/status/status.h"

#include "tests/support/random.h"
#include "tests/support/small_floats.h"

namespace kvpage::test {

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Equal, both NaN, or as near as said.
inline bool IsNear(double got, double want, double relative, double absolute = 0) {
  if (std::isnan(want)) return std::isnan(got);
  if (std::isinf(want) || std::isinf(got)) return got == want;
  return std::fabs(got - want) <= relative * std::fabs(want) + absolute;
}

struct MaxAndSum {
  double max;
  double sum;
};

template <class Backend>
class SoftmaxDenominator : public testing::Test {
 protected:
  struct Options {
    DenominatorMethod method = DenominatorMethod::kFixedOrder;
    bool given = false;
    double given_max = 0;
    size_t shift = 0;  // in elements
    int32_t max_blocks = 0;
  };

  static MaxAndSum Run(Dtype dtype, const std::vector<double>& x, const Options& options) {
    typename Backend::Array input(Encode(dtype, x), options.shift * BytesOf(dtype));
    typename Backend::Array result(Encode(Dtype::kF32, {7, 7, options.given_max}), 0);
    float* const r = static_cast<float*>(result.get());
    const absl::Status status =
        Backend::Run(DenominatorArgs{.x = input.get(),
                                     .dtype = dtype,
                                     .n = static_cast<int64_t>(x.size()),
                                     .given_max = options.given ? r + 2 : nullptr,
                                     .max = r,
                                     .sum = r + 1,
                                     .method = options.method,
                                     .max_blocks = options.max_blocks});
    EXPECT_TRUE(status.ok()) << status;
    const std::vector<double> got = Decode(Dtype::kF32, result.Download());
    return {got[0], got[1]};
  }
  static std::vector<DenominatorMethod> Methods() {
    using enum DenominatorMethod;
    return {kAtomicPerElement, kWarpShuffle, kFixedOrder};
  }
  static MaxAndSum Reference(const std::vector<double>& x) {
    MaxAndSum r = {-kInf, 0};
    for (const double v : x) r.max = std::fmax(r.max, v);
    if (r.max == -kInf) {
      for (const double v : x) r.sum += std::isnan(v) ? v : 0;
      return r;
    }
    for (const double v : x) r.sum += std::exp(v - r.max);
    return r;
  }
  static std::vector<double> Values(size_t n, uint64_t seed) {
    Random random(seed);
    std::vector<double> x(n);
    for (double& v : x) v = random.Below(1 << 20) * std::pow(2.0, -16) - 8;
    return x;
  }
  // In all methods, with the maximum found and given.
  static void Check(Dtype dtype, const std::vector<double>& x, double max, double sum,
                    double tolerance = 2e-6) {
    for (const DenominatorMethod method : Methods()) {
      for (const bool given : {false, true}) {
        const MaxAndSum got = Run(dtype, x, {method, given, max, 0, 0});
        EXPECT_EQ(got.max, max) << "method " << static_cast<int>(method) << " given " << given;
        EXPECT_TRUE(IsNear(got.sum, sum, tolerance))
            << got.sum << " for " << sum << " method " << static_cast<int>(method) << " given "
            << given;
      }
    }
  }
};
TYPED_TEST_SUITE_P(SoftmaxDenominator);

TYPED_TEST_P(SoftmaxDenominator, SpecialValues) {
  this->Check(Dtype::kF32, {-kInf, -kInf, -kInf}, -kInf, 0);
  this->Check(Dtype::kF32, {1, kNaN, 3}, 3, kNaN);
  this->Check(Dtype::kF32, {kNaN}, -kInf, kNaN);
  this->Check(Dtype::kF32, {1, kInf, 3}, kInf, kNaN);
  this->Check(Dtype::kF32, {kInf, kInf}, kInf, kNaN);
  this->Check(Dtype::kF32, {kInf, kNaN}, kInf, kNaN);
  this->Check(Dtype::kF32, {5.5}, 5.5, 1, 0);
  this->Check(Dtype::kF32, {0}, 0, 1, 0);
  this->Check(Dtype::kF32, {-kInf}, -kInf, 0);
  this->Check(Dtype::kF32, {-kInf, -2, -kInf}, -2, 1, 0);
  this->Check(Dtype::kF32, {3e38, -3e38, 3e38}, 3e38f, 2, 0);
  this->Check(Dtype::kF32, {1e4, 1e4 + .5, 9999}, 10000.5, 1.829661, 1e-6);
  this->Check(Dtype::kF32, {-1e5, -1e5 - 1}, -1e5, 1.3678794, 1e-6);
  this->Check(Dtype::kF32, {0, -100, -103, -104}, 0, 1);
  this->Check(Dtype::kF16, {65504, 65504, -65504}, 65504, 2, 0);
}

TYPED_TEST_P(SoftmaxDenominator, NoElements) {
  for (const DenominatorMethod method : this->Methods()) {
    const MaxAndSum got = this->Run(Dtype::kF32, {}, {.method = method});
    EXPECT_EQ(got.max, -kInf);
    EXPECT_EQ(got.sum, 0);
  }
}

// A running sum of ones stalls at 2048 in f16 and at 256 in bf16.
TYPED_TEST_P(SoftmaxDenominator, EqualValuesGiveTheirNumber) {
  for (const Dtype dtype : {Dtype::kF16, Dtype::kBf16, Dtype::kE4m3}) {
    this->Check(dtype, std::vector<double>(1 << 17, 1.5), 1.5, 1 << 17, 0);
  }
}

TYPED_TEST_P(SoftmaxDenominator, EverySizeAndAlignment) {
  for (const Dtype dtype : {Dtype::kF32, Dtype::kF16, Dtype::kBf16, Dtype::kE4m3}) {
    for (const size_t n : {1, 2, 3, 7, 15, 16, 17, 31, 33, 1023, 4097, 16384, 65537, 200003}) {
      const std::vector<double> x = Rounded(dtype, this->Values(n, n));
      const MaxAndSum want = this->Reference(x);
      for (const size_t shift : {0, 1, 3}) {
        for (const DenominatorMethod method : this->Methods()) {
          if (method == DenominatorMethod::kAtomicPerElement && n > 70000) continue;
          const MaxAndSum got = this->Run(dtype, x, {method, false, 0, shift, 0});
          EXPECT_EQ(got.max, want.max) << n;
          // One running sum of floats loses more than a tree does.
          const bool tree = method != DenominatorMethod::kAtomicPerElement;
          EXPECT_TRUE(IsNear(got.sum, want.sum, tree ? 2e-6 : 1e-3))
              << n << ": " << got.sum << " for " << want.sum;
        }
      }
    }
  }
}

TYPED_TEST_P(SoftmaxDenominator, EveryE4m3Number) {
  std::vector<double> x;
  for (uint32_t bits = 0; bits < 256; ++bits) {
    if (!std::isnan(DecodeSmall(Dtype::kE4m3, bits))) x.push_back(DecodeSmall(Dtype::kE4m3, bits));
  }
  this->Check(Dtype::kE4m3, x, 448, this->Reference(x).sum);
  x.push_back(kNaN);
  this->Check(Dtype::kE4m3, x, 448, kNaN);
}

// The same bits for every launch shape and on every run.
TYPED_TEST_P(SoftmaxDenominator, FixedOrderIsFixed) {
  const std::vector<double> x = this->Values(1 << 18, 5);
  std::set<double> sums;
  for (const int32_t max_blocks : {0, 1, 2, 7, 64, 132, 1000}) {
    for (int run = 0; run < (TypeParam::kOnGpu ? 20 : 1); ++run) {
      sums.insert(this->Run(Dtype::kF32, x, {.max_blocks = max_blocks}).sum);
    }
  }
  EXPECT_EQ(sums.size(), 1u);
}

TYPED_TEST_P(SoftmaxDenominator, AnyOrderOfTheElementsIsNear) {
  std::vector<double> x = this->Values(1 << 17, 9);
  const double want = this->Reference(x).sum;
  Random random(4);
  for (int i = 0; i < 3; ++i) {
    for (size_t k = x.size(); k > 1; --k) {
      std::swap(x[k - 1], x[random.Below(static_cast<uint32_t>(k))]);
    }
    EXPECT_TRUE(IsNear(this->Run(Dtype::kF32, x, {}).sum, want, 2 * 6e-8 * 17));
  }
}

TYPED_TEST_P(SoftmaxDenominator, RefusesWhatMeansNothing) {
  float result[2] = {7, 7};
  DenominatorArgs args = {.x = result, .n = -1, .max = result, .sum = result + 1};
  EXPECT_EQ(TypeParam::Run(args).code(), absl::StatusCode::kInvalidArgument);
  args.n = 1;
  args.x = nullptr;
  EXPECT_EQ(TypeParam::Run(args).code(), absl::StatusCode::kInvalidArgument);
  args.x = reinterpret_cast<const char*>(result) + 1;
  EXPECT_EQ(TypeParam::Run(args).code(), absl::StatusCode::kInvalidArgument);
  args.x = result;
  args.sum = nullptr;
  EXPECT_EQ(TypeParam::Run(args).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(result[0], 7);
}

REGISTER_TYPED_TEST_SUITE_P(SoftmaxDenominator, SpecialValues, NoElements,
                            EqualValuesGiveTheirNumber, EverySizeAndAlignment, EveryE4m3Number,
                            FixedOrderIsFixed, AnyOrderOfTheElementsIsNear,
                            RefusesWhatMeansNothing);

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_CONFORMANCE_SOFTMAX_DENOMINATOR_SUITE_H_
