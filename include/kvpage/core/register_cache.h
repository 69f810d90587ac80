// SPDX-License-Identifier: Apache-2.0
//
// kvpage/core/register_cache.h
//
// A RegisterCache holds 32 values that the lanes of a group read again and again: a piece of a page
// table's row, the weights of a merge. In a warp each lane keeps one of them in a register and a
// read is one shuffle; for a single thread it is an array. Nothing goes to shared memory, so there
// is no barrier and no bank conflict, and no occupancy is lost.
//
// Example, in a kernel (WarpGroup) as on the CPU (ThreadGroup):
//   kvpage::RegisterCache<kvpage::BlockId, kvpage::WarpGroup> blocks(warp);
//   blocks.Fill([&](uint32_t i) { return table.Entry(row, first + i); });
//   for (uint32_t i = 0; i < 32; ++i) Visit(blocks.Get(i));   // the same in every lane
//
// Thread safety: belongs to its group. Fill and Get are collective: every lane calls them, in the
//   same order. Lanes may ask for different entries.
// Memory ordering: none; what Fill reads is as old as the Fill.
// Cost: one register per lane of a warp. Get: one shuffle (about 25 clocks; a load from shared
//   memory takes about 30, from the L1 40, from the L2 250).
// Failure: none. REQUIRES: an entry below kEntries; a T of 4 or 8 bytes; a group that outlives it.

#ifndef KVPAGE_CORE_REGISTER_CACHE_H_
#define KVPAGE_CORE_REGISTER_CACHE_H_

#include <cstdint>
#include <type_traits>

#include "kvpage/core/group.h"
#include "kvpage/core/macros.h"

namespace kvpage {

template <class T, Group G>
class RegisterCache {
 public:
  static_assert(sizeof(T) == 4 || sizeof(T) == 8);
  static constexpr uint32_t kEntries = 32;

  KVPAGE_HOST_DEVICE explicit RegisterCache(const G& group) : group_(group) {}

  // Entry i becomes entry(i), which the lane that keeps it calls.
  template <class Entry>
  KVPAGE_HOST_DEVICE void Fill(Entry entry) {
    for (uint32_t turn = 0; turn < kPerLane; ++turn) {
      const uint32_t i = turn * group_.size() + group_.rank();
      if (i < kEntries) mine_[turn] = __builtin_bit_cast(Word, entry(i));
    }
  }

  KVPAGE_HOST_DEVICE T Get(uint32_t i) const {
    if constexpr (kPerLane == 1) {
      return __builtin_bit_cast(T, group_.Shuffle(mine_[0], i));
    } else {
      if (group_.size() == 1) return __builtin_bit_cast(T, mine_[i]);
      // Lanes may want entries of different turns, so every turn is asked for.
      Word found = mine_[0];
      for (uint32_t turn = 0; turn * group_.size() < kEntries; ++turn) {
        const Word at_turn = group_.Shuffle(mine_[turn], i % group_.size());
        if (turn == i / group_.size()) found = at_turn;
      }
      return __builtin_bit_cast(T, found);
    }
  }

 private:
  using Word = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  static constexpr uint32_t kPerLane = (kEntries + G::kMinLanes - 1) / G::kMinLanes;

  const G& group_;
  Word mine_[kPerLane] = {};
};

}  // namespace kvpage

#endif  // KVPAGE_CORE_REGISTER_CACHE_H_
