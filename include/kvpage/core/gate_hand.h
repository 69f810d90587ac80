// SPDX-License-Identifier: Apache-2.0
//
// kvpage/core/gate_hand.h
//
// The blocks of several shards that a group has collected, spread over its lanes. See
// kvpage/core/exact_gate.h.

#ifndef KVPAGE_CORE_GATE_HAND_H_
#define KVPAGE_CORE_GATE_HAND_H_

#include <cstdint>

#include "kvpage/core/bits.h"
#include "kvpage/core/group.h"
#include "kvpage/core/types.h"

namespace kvpage {

// What a gathering group holds: lane l's Get(j) blocks are of shard l + j * size().
template <Group G>
class Hand {
 public:
  static constexpr uint32_t kSlots = static_cast<uint32_t>(CeilDiv(kMaxShards, G::kMinLanes));

  KVPAGE_HOST_DEVICE uint32_t Get(uint32_t slot) const {
    if constexpr (kSlots > 2) {
      return slot == 0 ? first_ : others_[slot - 1];
    } else {
      return slot == 0 ? first_ : second_;
    }
  }
  KVPAGE_HOST_DEVICE void Set(uint32_t slot, uint32_t count) {
    if (slot == 0) {
      first_ = count;
    } else if constexpr (kSlots > 2) {
      others_[slot - 1] = count;
    } else {
      second_ = count;
    }
  }

 private:
  // No array for a GPU: one that is indexed by a variable cannot live in registers, nor can the
  // object that has it, nor those that this one refers to.
  uint32_t first_ = 0;
  uint32_t second_ = 0;
  uint32_t others_[kSlots > 2 ? kSlots - 1 : 1] = {};
};

}  // namespace kvpage

#endif  // KVPAGE_CORE_GATE_HAND_H_
