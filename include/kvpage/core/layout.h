// SPDX-License-Identifier: Apache-2.0
//
// kvpage/core/layout.h
//
// Where word i of an array lies: in its own place (contiguous), or far from its neighbours
// (interleaved), so that atomics on neighbouring words reach different L2 slices.
//
// An interleaved array of n words is cut into `stripes` stretches and word i lies in stretch
// i mod stripes. It is a permutation: no padding between words, no extra memory beyond rounding.
// Rule of thumb: many writers that merge by atomics interleave, one writer per word stays
// contiguous.
//
// Cost: one shift, one mask and one multiply per access. Pure, so safe from any thread.

#ifndef KVPAGE_CORE_LAYOUT_H_
#define KVPAGE_CORE_LAYOUT_H_

#include <cstdint>

#include "kvpage/core/bits.h"
#include "kvpage/core/macros.h"

namespace kvpage {

enum class Placement : uint8_t { kContiguous, kInterleaved };

struct WordLayout {
  uint32_t stripe_shift = 0;  // log2 of the number of stripes; 0: contiguous
  uint32_t stripe_words = 0;  // words in one stripe

  // The layout of `count` words of `word_bytes` bytes each. Interleaved neighbours never
  // lie in the same 256 bytes; an array too small for that stays contiguous.
  static constexpr WordLayout Make(uint32_t count, uint32_t word_bytes, Placement placement) {
    if (placement == Placement::kContiguous) return {0, count};
    const uint32_t apart = 256 / word_bytes;
    uint32_t shift = 0;
    while (shift < kMaxStripeShift && (uint64_t{apart} << (shift + 1)) <= count) ++shift;
    return {shift, static_cast<uint32_t>(CeilDiv(count, uint64_t{1} << shift))};
  }

  // Words to allocate, at least the count that was asked for.
  constexpr uint32_t size() const { return stripe_words << stripe_shift; }

  KVPAGE_HOST_DEVICE uint32_t Index(uint32_t i) const {
    const uint32_t stripe = i & ((1u << stripe_shift) - 1);
    return stripe * stripe_words + (i >> stripe_shift);
  }

  static constexpr uint32_t kMaxStripeShift = 6;
};

}  // namespace kvpage

#endif  // KVPAGE_CORE_LAYOUT_H_
