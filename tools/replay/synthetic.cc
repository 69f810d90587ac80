// SPDX-License-Identifier: Apache-2.0
//
// The arithmetic is on integers only: floating-point logarithms and the distributions of the
// standard library differ between machines.

#include "tools/replay/synthetic.h"

#include <algorithm>
#include <string>

#include "kvpage/core/bits.h"

namespace kvpage::replay {
namespace {

// 2^(i / 16) with 16 binary places.
constexpr uint64_t kPowers[] = {65536, 68438,  71468,  74632,  77936,  81386,  84990,  88752, 92682,
                                96785, 101070, 105545, 110218, 115098, 120194, 125515, 131072};

struct Lengths {
  uint32_t median;
  uint32_t spread;  // standard deviation of log2(length), with 8 binary places
  uint32_t longest;
};

constexpr Lengths kPrompts = {.median = 600, .spread = 320, .longest = 16384};
constexpr Lengths kOutputs = {.median = 160, .spread = 256, .longest = 2048};

class LengthGenerator {
 public:
  explicit LengthGenerator(uint64_t seed) : state_(MixBits(seed)) {}

  uint32_t Next(const Lengths& lengths) {
    // The sum of 12 uniform numbers is nearly normal; its standard deviation is 1.
    int64_t sum = 0;  // 16 binary places
    for (int i = 0; i < 12; ++i) sum += static_cast<int64_t>(MixBits(state_++) >> 48);
    const int64_t deviation = (sum - 6 * 65536) * lengths.spread / 256;
    const uint64_t length = Scale(lengths.median, deviation);
    return static_cast<uint32_t>(std::clamp<uint64_t>(length, 1, lengths.longest));
  }

 private:
  // value * 2^(exponent / 65536), for exponents between -8 and 8 whole powers.
  static uint64_t Scale(uint64_t value, int64_t exponent) {
    const uint64_t shifted = static_cast<uint64_t>(exponent + (int64_t{8} << 16));
    const uint64_t whole = shifted >> 16;
    const uint64_t step = (shifted >> 12) & 15;
    const uint64_t between = shifted & 4095;
    const uint64_t power = kPowers[step] + (kPowers[step + 1] - kPowers[step]) * between / 4096;
    return ((value * power) << whole) >> (16 + 8);
  }

  uint64_t state_;
};

}  // namespace

Workload MakeSyntheticWorkload(uint32_t num_requests, uint64_t seed) {
  Workload workload;
  workload.name = "synthetic, seed " + std::to_string(seed);
  workload.requests.resize(num_requests);
  LengthGenerator lengths(seed);
  for (Request& request : workload.requests) {
    request.prompt_tokens = lengths.Next(kPrompts);
    request.output_tokens = lengths.Next(kOutputs);
  }
  return workload;
}

}  // namespace kvpage::replay
