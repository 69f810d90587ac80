// SPDX-License-Identifier: Apache-2.0
//
// kvpage/core/bits.h
//
// Bit arithmetic on 64-bit words, the same on the CPU and the GPU. All functions are pure.

#ifndef KVPAGE_CORE_BITS_H_
#define KVPAGE_CORE_BITS_H_

#include <cstdint>

#include "kvpage/core/macros.h"

namespace kvpage {

KVPAGE_HOST_DEVICE constexpr uint64_t CeilDiv(uint64_t n, uint64_t d) { return (n + d - 1) / d; }
// For kernels: a GPU divides 32 bits four times as fast as 64. No sum that could overflow.
KVPAGE_HOST_DEVICE constexpr uint32_t CeilDiv32(uint32_t n, uint32_t d) {
  return n / d + (n % d != 0 ? 1 : 0);
}

KVPAGE_HOST_DEVICE constexpr uint64_t RoundUp(uint64_t n, uint64_t multiple) {
  return CeilDiv(n, multiple) * multiple;
}

KVPAGE_HOST_DEVICE inline uint32_t PopCount(uint64_t word) {
#if defined(__CUDA_ARCH__)
  return static_cast<uint32_t>(__popcll(word));
#else
  return static_cast<uint32_t>(__builtin_popcountll(word));
#endif
}

// Index of the lowest set bit. REQUIRES: word != 0.
KVPAGE_HOST_DEVICE inline uint32_t LowestBit(uint64_t word) {
#if defined(__CUDA_ARCH__)
  return static_cast<uint32_t>(__ffsll(static_cast<long long>(word)) - 1);
#else
  return static_cast<uint32_t>(__builtin_ctzll(word));
#endif
}

// Index of the k-th set bit, counted from 0. REQUIRES: k < PopCount(word). Six halvings.
KVPAGE_HOST_DEVICE inline uint32_t SelectBit(uint64_t word, uint32_t k) {
  uint32_t base = 0;
  for (uint32_t width = 32; width > 0; width >>= 1) {
    const uint64_t low = word & ((uint64_t{1} << width) - 1);
    const uint32_t count = PopCount(low);
    const bool above = k >= count;
    word = above ? word >> width : low;
    k -= above ? count : 0;
    base += above ? width : 0;
  }
  return base;
}

// The k lowest set bits of a word; all of them if there are no more than k. Short where they are
// adjacent.
KVPAGE_HOST_DEVICE inline uint64_t LowestBits(uint64_t word, uint32_t k) {
  if (k >= PopCount(word)) return word;
  const uint64_t lowest_k = (uint64_t{1} << k) - 1;  // k is below 64 here
  const uint32_t low = k == 0 ? 0 : LowestBit(word);
  if ((word >> low & lowest_k) == lowest_k) return lowest_k << low;
  return word & ((uint64_t{1} << SelectBit(word, k)) - 1);
}

// Spreads equal or neighbouring numbers over all 64 bits (the finaliser of SplitMix64).
KVPAGE_HOST_DEVICE constexpr uint64_t MixBits(uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

}  // namespace kvpage

#endif  // KVPAGE_CORE_BITS_H_
