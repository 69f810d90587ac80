// SPDX-License-Identifier: Apache-2.0
//
// bench/permute.h
//
// A permutation of 0 .. 2^bits - 1 that looks random: which blocks are holes, in which order they
// are touched. A formula, so that neither side needs a table of it.

#ifndef KVPAGE_BENCH_PERMUTE_H_
#define KVPAGE_BENCH_PERMUTE_H_

#include <cstdint>
#include <initializer_list>

#include "kvpage/core/macros.h"

namespace kvpage::bench {

// REQUIRES: i < 2^bits, 2 <= bits < 32. Each step can be undone, so no two i give the same
// number.
KVPAGE_HOST_DEVICE constexpr uint32_t Permute(uint32_t i, uint32_t bits) {
  const uint32_t mask = (1u << bits) - 1;
  for (const uint32_t odd : {0x9e3779b1u, 0x85ebca6bu, 0xc2b2ae35u}) {
    i = (i * odd + 0x27d4eb2fu) & mask;
    i ^= i >> (bits / 2);
  }
  return i;
}

}  // namespace kvpage::bench

#endif  // KVPAGE_BENCH_PERMUTE_H_
