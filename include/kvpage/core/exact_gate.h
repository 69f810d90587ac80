// SPDX-License-Identifier: Apache-2.0
//
// kvpage/core/exact_gate.h
//
// The gate decides, exactly, whether n blocks are free, and reserves them. It counts and does not
// name blocks: which ones they are is found afterwards in the free bits, where the search cannot
// fail because the gate said yes.
//
// The blocks are divided among shards, each with three counters (kvpage/core/gate_counters.h).
// An attempt of n succeeds if some value that supply has had covers what was asked before it. Full
// is decided by loads alone: every `granted`, a fence, then every `supply`; if the sums differ by
// less than n, then fewer than n blocks were free at the instant between the two sweeps. Only a
// request that no single shard can serve takes a lock, which guards progress and not safety.
// docs/design.md, "The exact gate", has the argument, every memory order and what was checked.
//
// Thread safety: everything may be called at any time by any group; Init needs the gate to itself.
// Memory ordering: Take acquires what the releasers of the blocks published before Credit. The
//   caller of Credit executes FenceAcqRel first, then makes the blocks findable, then credits.
// Cost: 2 loads, 1 fetch-and-add, 1 add and a fence per Take in the common case; Full: 3 loads per
//   shard. Credit: 1 add.
// Failure: kFull is exact (see above); kNeverFits for more than the gate's capacity.

#ifndef KVPAGE_CORE_EXACT_GATE_H_
#define KVPAGE_CORE_EXACT_GATE_H_

#include <cstdint>

#include "kvpage/core/atomics.h"
#include "kvpage/core/bits.h"
#include "kvpage/core/gate_counters.h"
#include "kvpage/core/group.h"
#include "kvpage/core/op_status.h"
#include "kvpage/core/types.h"

namespace kvpage {

// What a gathering group holds: lane l's count[j] blocks are of shard l + j * size().
template <Group G>
struct Hand {
  static constexpr uint32_t kSlots = static_cast<uint32_t>(CeilDiv(kMaxShards, G::kMinLanes));
  uint32_t count[kSlots] = {};
};

template <Atomics A>
class ExactGateRef : public GateCountersRef<A> {
  using Counters = GateCountersRef<A>;
  using Counters::Attempt;
  using Counters::Covers;
  using Counters::Visible;

 public:
  using Counters::asked;
  using Counters::granted;
  using Counters::lock;
  using Counters::num_shards;
  using Counters::supply;

  KVPAGE_HOST_DEVICE explicit ExactGateRef(const GateStorage& storage) : Counters(storage) {}

  // Reserves n blocks for the group, all or none, `home` shard first. On success calls
  // claim(subgroup, shard, count, offset) for each shard that serves a part: it must take `count`
  // blocks of `shard`; offset counts the blocks of the parts before it. Collective.
  template <Group G, class Claim>
  KVPAGE_HOST_DEVICE OpStatus Take(G& g, uint64_t n, uint32_t home, Claim claim) const {
    if (n == 0) return OpStatus::kOk;
    if (n > this->capacity()) return OpStatus::kNeverFits;
    bool ok = false;
    if (g.rank() == 0) {
      const uint64_t seen_supply = A::LoadRelaxed(supply(home));
      const uint64_t seen_asked = A::LoadRelaxed(asked(home));
      ok = Covers(seen_supply, seen_asked, n) && Attempt(home, n, seen_supply);
    }
    if (g.Shuffle(static_cast<uint32_t>(ok), 0) != 0) {
      ClaimAndSettle(g, home, n, g.rank() == 0, claim);
      return OpStatus::kOk;
    }
    return TakeSlowly(g, n, home, claim);
  }

  // Returns n blocks of a shard. The caller has executed FenceAcqRel (F1) and then made the blocks
  // findable. Linearization point of a release.
  KVPAGE_HOST_DEVICE void Credit(uint32_t shard, uint64_t n) const {
    A::AddRelaxed(supply(shard), n);
  }

  struct Scan {
    int64_t bound = 0;     // at some instant of the scan at most this many blocks were free
    int64_t visible = 0;   // free in the shards now, as far as one can see
    bool took = false;     // one shard served the request
    bool is_mine = false;  // it was this lane that asked it
    uint32_t shard = 0;
  };

  // Reads every shard; with n > 0 also attempts the first shard from `home` that shows n blocks.
  // Every `granted` is read before any `supply`: that order makes the bound exact (F3). Collective.
  template <Group G>
  KVPAGE_HOST_DEVICE Scan ScanShards(G& g, uint64_t n, uint32_t home) const {
    uint64_t granted_sum = 0;
    for (uint32_t s = g.rank(); s < num_shards(); s += g.size()) {
      granted_sum += A::LoadRelaxed(granted(s));
    }
    A::FenceAcqRel();  // F3
    g.Sync();
    uint64_t supply_sum = 0;
    uint64_t visible = 0;
    uint64_t nearest = kNone;  // distance from home, over this lane's shards
    uint64_t nearest_supply = 0;
    for (uint32_t s = g.rank(); s < num_shards(); s += g.size()) {
      const uint64_t seen_supply = A::LoadRelaxed(supply(s));
      const uint64_t seen_asked = A::LoadRelaxed(asked(s));
      supply_sum += seen_supply;
      visible += Visible(seen_supply, seen_asked);
      const uint64_t distance = s >= home ? s - home : s + num_shards() - home;
      if (n > 0 && Covers(seen_supply, seen_asked, n) && distance < nearest) {
        nearest = distance;
        nearest_supply = seen_supply;
      }
    }
    Scan scan;
    scan.bound = static_cast<int64_t>(g.Sum(supply_sum) - g.Sum(granted_sum));
    scan.visible = static_cast<int64_t>(g.Sum(visible));
    const uint64_t first = n > 0 ? g.Min(nearest) : uint64_t{kNone};
    if (first != kNone && scan.bound >= static_cast<int64_t>(n)) {
      scan.shard = static_cast<uint32_t>((home + first) % num_shards());
      scan.is_mine = nearest == first && Attempt(scan.shard, n, nearest_supply);
      scan.took = g.Any(scan.is_mine);
    }
    return scan;
  }

  // Takes the lock that only gatherers need. False: another group holds it. Collective.
  template <Group G>
  KVPAGE_HOST_DEVICE bool TryLock(G& g) const {
    bool locked = false;
    if (g.rank() == 0) {
      locked = A::LoadRelaxed(lock()) == 0 && A::ExchangeRelaxed(lock(), uint64_t{1}) == 0;
    }
    return g.Shuffle(static_cast<uint32_t>(locked), 0) != 0;
  }
  template <Group G>
  KVPAGE_HOST_DEVICE void Unlock(G& g) const {
    if (g.rank() == 0) A::StoreRelaxed(lock(), uint64_t{0});
  }

  // One pass over the shards in order, adding to the hand until it holds `want`; returns what it
  // holds. REQUIRES: the lock. Collective.
  template <Group G>
  KVPAGE_HOST_DEVICE uint64_t GatherPass(G& g, uint64_t want, uint64_t held, Hand<G>& hand) const {
    uint32_t slot = 0;
    for (uint32_t base = 0; base < num_shards() && held < want; base += g.size(), ++slot) {
      const uint32_t s = base + g.rank();
      uint64_t seen_supply = 0;
      uint64_t free = 0;
      if (s < num_shards()) {
        seen_supply = A::LoadRelaxed(supply(s));
        free = Visible(seen_supply, A::LoadRelaxed(asked(s)));
      }
      uint64_t total;
      const uint64_t before = g.ExclusiveScan(free, total);
      const uint64_t missing = want - held;
      uint64_t take = before < missing ? missing - before : 0;
      if (take > free) take = free;
      if (take > 0 && !Attempt(s, take, seen_supply)) take = 0;
      hand.count[slot] += static_cast<uint32_t>(take);
      held += g.Sum(take);
    }
    return held;
  }

  // Gives back all but the `keep` blocks of the lowest shards. Collective.
  template <Group G>
  KVPAGE_HOST_DEVICE void GiveBack(G& g, uint64_t keep, Hand<G>& hand) const {
    uint64_t passed = 0;
    uint32_t slot = 0;
    for (uint32_t base = 0; base < num_shards(); base += g.size(), ++slot) {
      const uint64_t count = hand.count[slot];
      uint64_t total;
      const uint64_t before = passed + g.ExclusiveScan(count, total);
      passed += total;
      const uint64_t kept = before >= keep ? 0 : (count < keep - before ? count : keep - before);
      if (count > kept) A::AddRelaxed(asked(base + g.rank()), kept - count);
      hand.count[slot] = static_cast<uint32_t>(kept);
    }
  }

  // Claims and settles everything in the hand, parts in shard order. Collective.
  template <Group G, class Claim>
  KVPAGE_HOST_DEVICE void ClaimAndSettleHand(G& g, Hand<G>& hand, Claim claim) const {
    uint64_t offset = 0;
    uint32_t slot = 0;
    for (uint32_t base = 0; base < num_shards(); base += g.size(), ++slot) {
      const uint64_t count = hand.count[slot];
      uint64_t total;
      const uint64_t before = offset + g.ExclusiveScan(count, total);
      if (total == 0) continue;
      const auto parts = g.Publish(count << 32 | before);
      const uint32_t end =
          num_shards() - base < g.size() ? num_shards() - base : static_cast<uint32_t>(g.size());
      for (uint32_t i = g.subgroup_index(); i < end; i += g.num_subgroups()) {
        const uint64_t part = parts[i];
        if (part >> 32 == 0) continue;
        claim(g.subgroup(), base + i, static_cast<uint32_t>(part >> 32),
              static_cast<uint32_t>(part));
      }
      g.Sync();  // every subgroup has read `parts`
      offset += total;
    }
    // Each lane settles what several lanes took: what every lane saw goes before every settle.
    A::FenceAcqRel();
    g.Sync();
    A::FenceAcqRel();  // F2
    g.Sync();
    slot = 0;
    for (uint32_t s = g.rank(); s < num_shards(); s += g.size(), ++slot) {
      if (hand.count[slot] > 0) A::AddRelaxed(granted(s), uint64_t{hand.count[slot]});
    }
  }

 private:
  static constexpr uint64_t kNone = ~uint64_t{0};

  // The lane that settles is the one whose attempt succeeded: its own fence orders what it saw.
  // Sync before the fence puts the other lanes' earlier operations behind it, Sync after it lets
  // all lanes have what the claiming lanes acquired.
  template <Group G, class Claim>
  KVPAGE_HOST_DEVICE void ClaimAndSettle(G& g, uint32_t shard, uint64_t n, bool settles,
                                         Claim claim) const {
    if (g.subgroup_index() == 0) claim(g.subgroup(), shard, static_cast<uint32_t>(n), 0u);
    g.Sync();
    A::FenceAcqRel();  // F2
    g.Sync();
    if (settles) A::AddRelaxed(granted(shard), n);
  }

  template <Group G, class Claim>
  KVPAGE_HOST_DEVICE OpStatus TakeSlowly(G& g, uint64_t n, uint32_t home, Claim claim) const {
    for (uint32_t attempt = 0;; ++attempt) {
      const Scan scan = ScanShards(g, n, home);
      if (scan.bound < static_cast<int64_t>(n)) return OpStatus::kFull;
      if (scan.took) {
        ClaimAndSettle(g, scan.shard, n, scan.is_mine, claim);
        return OpStatus::kOk;
      }
      if (num_shards() > 1 && scan.visible >= static_cast<int64_t>(n) && TryLock(g)) {
        Hand<G> hand;
        const bool gathered = Gather(g, n, hand);
        Unlock(g);
        if (!gathered) return OpStatus::kFull;
        ClaimAndSettleHand(g, hand, claim);
        return OpStatus::kOk;
      }
      A::Pause(attempt);
    }
  }

  // Collects n blocks over the shards, keeping its hand from pass to pass (giving it back after
  // each would let two requests starve each other for ever). False: exactly Full, hand given back.
  template <Group G>
  KVPAGE_HOST_DEVICE bool Gather(G& g, uint64_t n, Hand<G>& hand) const {
    uint64_t held = 0;
    for (uint32_t attempt = 0;; ++attempt) {
      held = GatherPass(g, n, held, hand);
      if (held == n) return true;
      // What the hand holds is not settled, so the bound counts it as free, for everybody.
      if (ScanShards(g, 0, 0).bound < static_cast<int64_t>(n)) {
        GiveBack(g, 0, hand);
        return false;
      }
      A::Pause(attempt);
    }
  }
};

}  // namespace kvpage

#endif  // KVPAGE_CORE_EXACT_GATE_H_
