// SPDX-License-Identifier: Apache-2.0

#include "src/dtype_convert.h"

#include <bit>
#include <cmath>
#include <limits>

namespace kvpage {
namespace {

// A small floating-point type: its exponent and mantissa bits, and whether it has infinities.
struct Format {
  int exponent_bits;
  int mantissa_bits;
  bool has_infinity;

  constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  constexpr uint32_t exponent_mask() const { return (1u << exponent_bits) - 1; }
};

constexpr Format kF16 = {5, 10, true};
constexpr Format kBf16 = {8, 7, true};
constexpr Format kE4m3 = {4, 3, false};

double Decode(const Format& f, uint32_t bits) {
  const uint32_t mantissa = bits & ((1u << f.mantissa_bits) - 1);
  const uint32_t exponent = bits >> f.mantissa_bits & f.exponent_mask();
  const bool negative = (bits >> (f.mantissa_bits + f.exponent_bits) & 1) != 0;
  double magnitude;
  if (f.has_infinity && exponent == f.exponent_mask()) {
    magnitude = mantissa == 0 ? std::numeric_limits<double>::infinity()
                              : std::numeric_limits<double>::quiet_NaN();
  } else if (!f.has_infinity && exponent == f.exponent_mask() &&
             mantissa == (1u << f.mantissa_bits) - 1) {
    magnitude = std::numeric_limits<double>::quiet_NaN();
  } else if (exponent == 0) {
    magnitude = std::ldexp(mantissa, 1 - f.bias() - f.mantissa_bits);
  } else {
    magnitude = std::ldexp(mantissa + (1u << f.mantissa_bits),
                           static_cast<int>(exponent) - f.bias() - f.mantissa_bits);
  }
  return negative ? -magnitude : magnitude;
}

uint16_t Encode(const Format& f, double value) {
  const uint32_t sign = std::signbit(value) ? 1u << (f.mantissa_bits + f.exponent_bits) : 0;
  const uint32_t infinity = f.exponent_mask() << f.mantissa_bits;
  if (std::isnan(value))
    return static_cast<uint16_t>(sign | infinity | 1u << (f.mantissa_bits - 1));
  const double magnitude = std::fabs(value);
  int exponent = 0;
  std::frexp(magnitude, &exponent);  // magnitude < 2^exponent
  // The place of the last mantissa bit; denormals all have the least.
  const int least = 1 - f.bias() - f.mantissa_bits;
  int last = exponent - 1 - f.mantissa_bits;
  if (last < least || magnitude == 0) last = least;
  if (magnitude >= std::ldexp(2, f.bias())) return static_cast<uint16_t>(sign | infinity);
  // In units of the last place, an integer; a carry goes into the exponent by itself.
  const double units = std::nearbyint(std::ldexp(magnitude, -last));
  const uint32_t bits =
      static_cast<uint32_t>(units) + (static_cast<uint32_t>(last - least) << f.mantissa_bits);
  return static_cast<uint16_t>(sign | (bits > infinity ? infinity : bits));
}

}  // namespace

double ReadElement(const void* array, Dtype dtype, int64_t i) {
  switch (dtype) {
    case Dtype::kF32:
      return static_cast<const float*>(array)[i];
    case Dtype::kF16:
      return Decode(kF16, static_cast<const uint16_t*>(array)[i]);
    case Dtype::kBf16:
      return Decode(kBf16, static_cast<const uint16_t*>(array)[i]);
    case Dtype::kE4m3:
      return Decode(kE4m3, static_cast<const uint8_t*>(array)[i]);
  }
  return 0;
}

void WriteElement(void* array, Dtype dtype, int64_t i, double value) {
  if (dtype == Dtype::kF32) {
    static_cast<float*>(array)[i] = static_cast<float>(value);
  } else {
    static_cast<uint16_t*>(array)[i] = Encode(dtype == Dtype::kF16 ? kF16 : kBf16, value);
  }
}

}  // namespace kvpage
