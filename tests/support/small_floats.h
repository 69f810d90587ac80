// SPDX-License-Identifier: Apache-2.0
//
// tests/support/small_floats.h
//
// Arrays of the Dtypes for tests. Rounding is by looking through every number of the type for the
// nearest, so that nothing is taken from the library under test.

#ifndef KVPAGE_TESTS_SUPPORT_SMALL_FLOATS_H_
#define KVPAGE_TESTS_SUPPORT_SMALL_FLOATS_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <vector>

#include "kvpage/core/softmax_types.h"

namespace kvpage::test {

inline double DecodeSmall(Dtype dtype, uint32_t bits) {
  const int mantissa_bits = dtype == Dtype::kF16 ? 10 : (dtype == Dtype::kBf16 ? 7 : 3);
  const int exponent_bits = dtype == Dtype::kF16 ? 5 : (dtype == Dtype::kBf16 ? 8 : 4);
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int mantissa = static_cast<int>(bits & ((1u << mantissa_bits) - 1));
  const int exponent = static_cast<int>(bits >> mantissa_bits & ((1u << exponent_bits) - 1));
  const double sign = (bits >> (mantissa_bits + exponent_bits) & 1) != 0 ? -1 : 1;
  const bool top = exponent == (1 << exponent_bits) - 1;
  if (dtype == Dtype::kE4m3) {
    if (top && mantissa == 7) return std::numeric_limits<double>::quiet_NaN();
  } else if (top) {
    return mantissa != 0 ? std::numeric_limits<double>::quiet_NaN()
                         : sign * std::numeric_limits<double>::infinity();
  }
  if (exponent == 0) return sign * mantissa * std::pow(2.0, 1 - bias - mantissa_bits);
  return sign * (1 + mantissa * std::pow(2.0, -mantissa_bits)) * std::pow(2.0, exponent - bias);
}

// To the nearest number of the type, ties to the even one.
inline uint32_t EncodeSmall(Dtype dtype, double value) {
  const uint32_t half = dtype == Dtype::kE4m3 ? 128 : 32768;  // numbers of one sign
  static std::map<Dtype, std::vector<double>>& tables = *new std::map<Dtype, std::vector<double>>;
  std::vector<double>& table = tables[dtype];
  for (uint32_t bits = 0; table.empty() || table.size() == bits; ++bits) {
    const double number = DecodeSmall(dtype, bits);
    if (std::isfinite(number)) table.push_back(number);
  }
  const uint32_t sign = std::signbit(value) ? half : 0;
  if (std::isnan(value)) return sign | (half - 1);
  const double magnitude = std::fabs(value);
  const uint32_t above = static_cast<uint32_t>(
      std::lower_bound(table.begin(), table.end(), magnitude) - table.begin());
  if (above == 0) return sign;
  // Beyond the largest: as if there were one number more.
  const double last_step = table.back() - table[table.size() - 2];
  const double upper = above < table.size() ? table[above] : table.back() + last_step;
  const double to_lower = magnitude - table[above - 1];
  const double to_upper = upper - magnitude;
  const bool up = to_upper < to_lower || (to_upper == to_lower && above % 2 == 0);
  return sign | (up ? above : above - 1);
}

// Bytes of an array of the type.
inline std::vector<uint8_t> Encode(Dtype dtype, const std::vector<double>& values) {
  const size_t size = static_cast<size_t>(BytesOf(dtype));
  std::vector<uint8_t> bytes(values.size() * size);
  for (size_t i = 0; i < values.size(); ++i) {
    if (dtype == Dtype::kF32) {
      const float f = static_cast<float>(values[i]);
      std::memcpy(&bytes[i * size], &f, size);
    } else {
      const uint32_t bits = EncodeSmall(dtype, values[i]);
      std::memcpy(&bytes[i * size], &bits, size);
    }
  }
  return bytes;
}

inline std::vector<double> Decode(Dtype dtype, const std::vector<uint8_t>& bytes) {
  const size_t size = static_cast<size_t>(BytesOf(dtype));
  std::vector<double> values(bytes.size() / size);
  for (size_t i = 0; i < values.size(); ++i) {
    if (dtype == Dtype::kF32) {
      float f;
      std::memcpy(&f, &bytes[i * size], size);
      values[i] = f;
    } else {
      uint32_t bits = 0;
      std::memcpy(&bits, &bytes[i * size], size);
      values[i] = DecodeSmall(dtype, bits);
    }
  }
  return values;
}

// What values become in an array of the type.
inline std::vector<double> Rounded(Dtype dtype, const std::vector<double>& values) {
  return Decode(dtype, Encode(dtype, values));
}

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_SUPPORT_SMALL_FLOATS_H_
