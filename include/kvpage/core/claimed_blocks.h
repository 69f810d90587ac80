// SPDX-License-Identifier: Apache-2.0
//
// kvpage/core/claimed_blocks.h
//
// What a group got at one look into the free bits, spread over its lanes, and how to share it out:
// each block has a number, and any lane can ask for any number.
//
// Cost: of adjacent blocks, an addition; of many from one leaf, a population count each; of others
//   log2(lanes) + 3 shuffles and a bit search.

#ifndef KVPAGE_CORE_CLAIMED_BLOCKS_H_
#define KVPAGE_CORE_CLAIMED_BLOCKS_H_

#include <cstdint>

#include "kvpage/core/bits.h"
#include "kvpage/core/group.h"
#include "kvpage/core/types.h"

namespace kvpage {

struct ClaimedBlocks {
  uint32_t total = 0;        // blocks of all lanes
  uint32_t before = 0;       // blocks of lower lanes
  uint64_t bits = 0;         // this lane's blocks
  BlockId first = 0;         // block of bit 0 of `bits`
  bool emptied = false;      // the leaf of this lane's blocks has none left
  BlockId run = kNullBlock;  // if not null: the first of `total` adjacent blocks

  // Block number `item`; each lane may name another. REQUIRES: item < total. Collective.
  template <Group W>
  KVPAGE_HOST_DEVICE BlockId Get(W& w, uint32_t item) const {
    if (run != kNullBlock) return run + item;
    const uint32_t lane = FindLane(w, before, item);
    const uint64_t its_bits = w.Shuffle(bits, lane);
    const uint32_t its_before = w.Shuffle(before, lane);
    return w.Shuffle(first, lane) + SelectBit(its_bits, item - its_before);
  }

  // Calls f(item, id) for each block, each in one lane. Collective.
  template <Group W, class F>
  KVPAGE_HOST_DEVICE void ForEach(W& w, F f) const {
    if (run == kNullBlock && w.size() == 1) {
      uint32_t item = before;
      for (uint64_t left = bits; left != 0; left &= left - 1) f(item++, first + LowestBit(left));
      return;
    }
    if (run == kNullBlock && total >= kMany * w.Sum(bits != 0 ? 1u : 0u)) {
      // Leaf by leaf, all lanes together: less work than a search for each block.
      for (uint32_t lane = w.First(bits != 0); lane < w.size();
           lane = w.First(bits != 0 && w.rank() > lane)) {
        const uint64_t its_bits = w.Shuffle(bits, lane);
        const uint32_t its_before = w.Shuffle(before, lane);
        const BlockId its_first = w.Shuffle(first, lane);
        for (uint32_t bit = w.rank(); bit < 64; bit += w.size()) {
          const uint64_t above = its_bits >> bit;
          if ((above & 1) == 0) continue;
          f(its_before + PopCount(its_bits) - PopCount(above), its_first + bit);
        }
      }
      return;
    }
    for (uint32_t base = 0; base < total; base += w.size()) {
      const uint32_t item = base + w.rank();
      const BlockId id = Get(w, item < total ? item : total - 1);
      if (item < total) f(item, id);
    }
  }

  // The last lane whose `before` is not above `item`: the lane that holds the item, if `before` is
  // the exclusive scan of how many items each lane holds. Collective.
  template <Group W>
  KVPAGE_HOST_DEVICE static uint32_t FindLane(W& w, uint32_t before, uint32_t item) {
    uint32_t lane = 0;
    for (uint32_t step = TopStep(w.size()); step > 0; step >>= 1) {
      const uint32_t candidate = lane + step;
      const bool inside = candidate < w.size();
      const uint32_t its_before = w.Shuffle(before, inside ? candidate : 0u);
      if (inside && its_before <= item) lane = candidate;
    }
    return lane;
  }

 private:
  static constexpr uint32_t kMany = 8;  // blocks of a leaf

  // The largest power of two below n; 0 for n = 1.
  KVPAGE_HOST_DEVICE static uint32_t TopStep(uint32_t n) {
    uint32_t step = 1;
    while (step < n) step <<= 1;
    return step >> 1;
  }
};

}  // namespace kvpage

#endif  // KVPAGE_CORE_CLAIMED_BLOCKS_H_
