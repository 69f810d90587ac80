// SPDX-License-Identifier: Apache-2.0
//
// kvpage/core/gate_scan.h
//
// One reading of all the gate's counters: how many blocks were free at most, at some instant of it,
// and which shard to ask. The verdict Full rests on nothing else.
//
// Thread safety: at any time, by any group. Memory ordering: relaxed loads and one fence, F3; see
//   docs/design.md, "The exact gate".
// Cost: 3 loads per shard.

#ifndef KVPAGE_CORE_GATE_SCAN_H_
#define KVPAGE_CORE_GATE_SCAN_H_

#include <cstdint>

#include "kvpage/core/gate_counters.h"
#include "kvpage/core/group.h"

namespace kvpage {

template <Atomics A>
class GateScanRef : public GateCountersRef<A> {
  using Base = GateCountersRef<A>;

 public:
  using Base::asked;
  using Base::granted;
  using Base::num_shards;
  using Base::supply;
  using Base::Visible;

  static constexpr uint32_t kNone = ~uint32_t{0};

  KVPAGE_HOST_DEVICE explicit GateScanRef(const GateStorage& storage) : Base(storage) {}

  struct Scan {
    int64_t bound = 0;     // at some instant of the scan at most this many blocks were free
    uint64_t visible = 0;  // free in the shards now, as far as one can see
    // Of this lane's shards, the one nearest to home that shows `least` blocks; kNone: none does.
    uint32_t distance = kNone;
    uint64_t supply = 0;
    uint64_t shows = 0;
  };

  // Reads every shard. Every `granted` is read before any `supply`: that order makes the bound
  // exact (F3). Collective.
  template <Group G>
  KVPAGE_HOST_DEVICE Scan ScanShards(G& g, uint32_t least, uint32_t home) const {
    uint64_t granted_sum = 0;
    for (uint32_t s = g.rank(); s < num_shards(); s += g.size()) {
      granted_sum += A::LoadRelaxed(granted(s));
    }
    A::FenceAcqRel();  // F3
    g.Sync();
    uint64_t supply_sum = 0;
    uint64_t visible = 0;
    Scan scan;
    for (uint32_t distance = g.rank(); distance < num_shards(); distance += g.size()) {
      const uint32_t s = ShardAt(home, distance);
      const uint64_t seen_supply = A::LoadRelaxed(supply(s));
      const uint64_t shows = Visible(seen_supply, A::LoadRelaxed(asked(s)));
      supply_sum += seen_supply;
      visible += shows;
      if (shows >= least && scan.distance == kNone) {
        scan.distance = distance;
        scan.supply = seen_supply;
        scan.shows = shows;
      }
    }
    scan.bound = static_cast<int64_t>(g.Sum(supply_sum) - g.Sum(granted_sum));
    scan.visible = g.Sum(visible);
    return scan;
  }

 protected:
  KVPAGE_HOST_DEVICE static uint32_t Least(uint64_t a, uint64_t b) {
    return static_cast<uint32_t>(a < b ? a : b);
  }
  KVPAGE_HOST_DEVICE uint32_t ShardAt(uint32_t home, uint32_t distance) const {
    const uint32_t s = home + distance;
    return s < num_shards() ? s : s - num_shards();
  }
};

}  // namespace kvpage

#endif  // KVPAGE_CORE_GATE_SCAN_H_
