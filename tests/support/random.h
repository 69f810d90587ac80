// SPDX-License-Identifier: Apache-2.0
//
// tests/support/random.h
//
// A small generator whose sequence is the same on every machine and library, so that a seed that
// failed can be replayed anywhere.

#ifndef KVPAGE_TESTS_SUPPORT_RANDOM_H_
#define KVPAGE_TESTS_SUPPORT_RANDOM_H_

#include <cstdint>

#include "kvpage/core/bits.h"

namespace kvpage::test {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(MixBits(seed)) {}

  uint64_t Next() { return MixBits(state_++); }
  // Uniform in [0, n). REQUIRES: n > 0.
  uint32_t Below(uint32_t n) { return static_cast<uint32_t>((Next() >> 32) * n >> 32); }
  // Uniform in [low, high].
  uint32_t Between(uint32_t low, uint32_t high) { return low + Below(high - low + 1); }
  // True in `percent` of 100 cases.
  bool Percent(uint32_t percent) { return Below(100) < percent; }

 private:
  uint64_t state_;
};

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_SUPPORT_RANDOM_H_
