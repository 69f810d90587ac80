// SPDX-License-Identifier: Apache-2.0
//
// kvpage/core/gate_counters.h
//
// The words of the exact gate: three counters per shard and one lock, and the single step that
// everything rests on, the attempt. kvpage/core/exact_gate.h builds the protocol from them.
//
//   asked    raised by every attempt, lowered by what an attempt asked for in vain, and by what a
//            gatherer gives back
//   granted  raised when a success settles
//   supply   raised by a release
//
// Thread safety: everything may be called at any time; Init needs the gate to itself.
// Memory ordering: all relaxed; the fences stand in exact_gate.h. See docs/design.md, "The exact
// gate".

#ifndef KVPAGE_CORE_GATE_COUNTERS_H_
#define KVPAGE_CORE_GATE_COUNTERS_H_

#include <cstdint>

#include "kvpage/core/atomics.h"
#include "kvpage/core/macros.h"

namespace kvpage {

struct GateStorage {
  uint64_t* words = nullptr;
  uint32_t num_shards = 0;
  uint32_t stride = 0;  // words from one counter to the next; 32 puts each alone in 256 bytes
  uint64_t capacity = 0;
  uint64_t reciprocal = 0;  // of num_shards: 2^32 / num_shards, rounded up

  static constexpr uint64_t NumWords(uint32_t num_shards, uint32_t stride) {
    return (3 * uint64_t{num_shards} + 1) * stride;
  }
};

template <Atomics A>
class GateCountersRef {
 public:
  KVPAGE_HOST_DEVICE explicit GateCountersRef(const GateStorage& storage) : s_(storage) {}

  KVPAGE_HOST_DEVICE uint32_t num_shards() const { return s_.num_shards; }
  // number / num_shards for numbers below 2^26, since num_shards is at most 64.
  KVPAGE_HOST_DEVICE uint32_t DivideByShards(uint32_t number) const {
    return static_cast<uint32_t>(number * s_.reciprocal >> 32);
  }
  KVPAGE_HOST_DEVICE uint64_t capacity() const { return s_.capacity; }

  KVPAGE_HOST_DEVICE uint64_t* asked(uint32_t s) const { return counter(3 * s); }
  KVPAGE_HOST_DEVICE uint64_t* granted(uint32_t s) const { return counter(3 * s + 1); }
  KVPAGE_HOST_DEVICE uint64_t* supply(uint32_t s) const { return counter(3 * s + 2); }
  KVPAGE_HOST_DEVICE uint64_t* lock() const { return counter(3 * s_.num_shards); }

  // Gives a new gate's shard its blocks.
  KVPAGE_HOST_DEVICE void Init(uint32_t shard, uint64_t blocks) const {
    A::StoreRelaxed(asked(shard), uint64_t{0});
    A::StoreRelaxed(granted(shard), uint64_t{0});
    A::StoreRelaxed(supply(shard), blocks);
    if (shard == 0) A::StoreRelaxed(lock(), uint64_t{0});
  }

  // Whether a shard that was given `supply` and asked for `asked` can serve n more.
  KVPAGE_HOST_DEVICE static bool Covers(uint64_t supply, uint64_t asked, uint64_t n) {
    return static_cast<int64_t>(supply - asked) >= static_cast<int64_t>(n);
  }
  // Free in the shard as far as these two values tell; attempts under way can make them cross.
  KVPAGE_HOST_DEVICE static uint64_t Visible(uint64_t supply, uint64_t asked) {
    return static_cast<int64_t>(supply - asked) > 0 ? supply - asked : 0;
  }

  // Asks a shard for `most` blocks and takes as many as there are, if those are `least`; returns
  // how many. `seen_supply` is any value that its supply has had: since supply only rises, a stale
  // one is safe. What was asked in vain leaves no trace.
  KVPAGE_HOST_DEVICE uint32_t Attempt(uint32_t s, uint32_t least, uint32_t most,
                                      uint64_t seen_supply) const {
    const uint64_t before = A::FetchAddRelaxed(asked(s), uint64_t{most});
    // Linearization point of a success.
    if (Covers(seen_supply, before, most)) return most;
    const uint64_t there = Visible(seen_supply, before);
    const uint32_t taken = there >= least ? static_cast<uint32_t>(there) : 0;
    A::AddRelaxed(asked(s), uint64_t{taken} - most);
    return taken;
  }

  // At some instant of the call at least `lower` blocks were free; at some instant at most `upper`.
  // One thread.
  struct Bounds {
    int64_t lower;
    int64_t upper;
  };
  KVPAGE_HOST_DEVICE Bounds FreeBounds() const {
    uint64_t granted_sum = 0;
    uint64_t supply_sum = 0;
    uint64_t asked_sum = 0;
    for (uint32_t s = 0; s < s_.num_shards; ++s) granted_sum += A::LoadRelaxed(granted(s));
    A::FenceAcqRel();
    for (uint32_t s = 0; s < s_.num_shards; ++s) supply_sum += A::LoadRelaxed(supply(s));
    A::FenceAcqRel();
    for (uint32_t s = 0; s < s_.num_shards; ++s) asked_sum += A::LoadRelaxed(asked(s));
    return {static_cast<int64_t>(supply_sum - asked_sum),
            static_cast<int64_t>(supply_sum - granted_sum)};
  }

  // At rest: free blocks of a shard, or -1 if a request is open or the lock is held.
  KVPAGE_HOST_DEVICE int64_t FreeAtRest(uint32_t shard) const {
    const uint64_t seen_asked = A::LoadRelaxed(asked(shard));
    if (seen_asked != A::LoadRelaxed(granted(shard)) || A::LoadRelaxed(lock()) != 0) return -1;
    return static_cast<int64_t>(A::LoadRelaxed(supply(shard)) - seen_asked);
  }

 private:
  KVPAGE_HOST_DEVICE uint64_t* counter(uint32_t i) const { return s_.words + i * s_.stride; }

  GateStorage s_;
};

}  // namespace kvpage

#endif  // KVPAGE_CORE_GATE_COUNTERS_H_
