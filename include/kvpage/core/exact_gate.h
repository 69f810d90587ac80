// SPDX-License-Identifier: Apache-2.0
//
// kvpage/core/exact_gate.h
//
// The gate decides, exactly, whether n blocks are free, and reserves them. It counts and does not
// name blocks: which ones they are is found afterwards in the free bits, where the search cannot
// fail because the gate said yes.
//
// The blocks are divided among shards, each with three counters (kvpage/core/gate_counters.h).
// An attempt succeeds as far as some value that supply has had covers it and what was asked before
// it. Full is decided by loads alone: every `granted`, a fence, then every `supply`; if the sums
// differ by less than n, then fewer than n blocks were free at the instant between the two sweeps.
// Only a request for all or none that no single shard can serve takes a lock, which guards progress
// and not safety.
// docs/design.md, "The exact gate", has the argument, every memory order and what was checked.
//
// Thread safety: everything may be called at any time by any group; Init needs the gate to itself.
// Memory ordering: a settlement stands behind F2, so that what a success saw comes before it; the
//   caller of Credit has executed FenceAcqRel (F0 or F1) since the gate was last asked. Blocks are
//   carried from owner to owner by their words (block_words.h).
// Cost: 1 load and 1 fetch-and-add at once, 1 add and a fence per Take in the common case; Full: 3
//   loads per shard. Credit: 1 add.
// Failure: kFull is exact (see above); kNeverFits for more than the gate's capacity.

#ifndef KVPAGE_CORE_EXACT_GATE_H_
#define KVPAGE_CORE_EXACT_GATE_H_

#include <cstdint>

#include "kvpage/core/atomics.h"
#include "kvpage/core/bits.h"
#include "kvpage/core/gate_hand.h"
#include "kvpage/core/gate_scan.h"
#include "kvpage/core/group.h"
#include "kvpage/core/op_status.h"
#include "kvpage/core/types.h"

namespace kvpage {

template <Atomics A>
class ExactGateRef : public GateScanRef<A> {
  using Base = GateScanRef<A>;
  using Base::Attempt;
  using Base::Least;
  using Base::ShardAt;
  using Base::Visible;

 public:
  using Base::asked;
  using Base::granted;
  using Base::kNone;
  using Base::lock;
  using Base::num_shards;
  using Base::ScanShards;
  using Base::supply;
  using Scan = typename Base::Scan;

  KVPAGE_HOST_DEVICE explicit ExactGateRef(const GateStorage& storage) : Base(storage) {}

  // What one lane's attempt brought: `count` blocks of `shard`, which that lane settles.
  struct Grant {
    uint32_t shard = 0;
    uint32_t count = 0;
  };

  // Reserves n blocks for the group, all or none, `home` shard first. On success calls
  // claim(subgroup, shard, count, offset) for each shard that serves a part: it must take `count`
  // blocks of `shard`; offset counts the blocks of the parts before it. Collective.
  template <Group G, class Claim>
  KVPAGE_HOST_DEVICE OpStatus Take(G& g, uint32_t n, uint32_t home, Claim claim) const {
    if (n == 0) return OpStatus::kOk;
    if (n > this->capacity()) return OpStatus::kNeverFits;
    uint32_t shard = home;
    Grant mine = AskHome(g, n, n, home);
    for (uint32_t attempt = 0; !g.Any(mine.count > 0); ++attempt) {
      if (attempt > 0) A::Pause(attempt - 1);
      const Scan scan = ScanShards(g, n, home);
      if (scan.bound < static_cast<int64_t>(n)) return OpStatus::kFull;
      const uint32_t nearest = g.Min(scan.distance);
      if (nearest != kNone) {
        shard = ShardAt(home, nearest);
        if (scan.distance == nearest) mine = {shard, Attempt(shard, n, n, scan.supply)};
      } else if (num_shards() > 1 && scan.visible >= n && TryLock(g)) {
        Hand<G> hand;
        const bool gathered = Gather(g, n, hand);
        Unlock(g);
        if (!gathered) return OpStatus::kFull;
        ClaimHand(g, hand, claim);
        SettleHand(g, hand);
        return OpStatus::kOk;
      }
    }
    if (g.subgroup_index() == 0) claim(g.subgroup(), shard, n, 0u);
    Settle(g, mine);
    return OpStatus::kOk;
  }

  // Reserves at least `least` and at most `most` blocks of shard `home`, or none, by one attempt of
  // lane 0: the common case. It asks before it has looked, so that the two run at once; only the
  // first attempt of a call may, or two could undo each other for ever. Other lanes answer 0. The
  // group meets before: what is asked is open until the group settles it, and a lane that has not
  // come yet may be waiting, in a request of its own, for just that. Collective.
  template <Group G>
  KVPAGE_HOST_DEVICE Grant AskHome(G& g, uint32_t least, uint32_t most, uint32_t home) const {
    g.Sync();
    if (g.rank() != 0) return {home, 0};
    return {home, Attempt(home, least, most, A::LoadRelaxed(supply(home)))};
  }

  // What lane l sees of shard l.
  struct Seen {
    uint64_t supply = 0;
    uint64_t shows = 0;
  };
  template <Group G>
  KVPAGE_HOST_DEVICE Seen LookAtLowest(G& g) const {
    Seen seen;
    if (g.rank() < num_shards()) {
      seen.supply = A::LoadRelaxed(supply(g.rank()));
      seen.shows = Visible(seen.supply, A::LoadRelaxed(asked(g.rank())));
    }
    return seen;
  }
  // Reserves n blocks of the lowest shard that shows any, if it is among those seen and shows as
  // many, by one attempt of one lane, which answers it in `mine`; returns the shard, or kNone.
  // Collective.
  template <Group G>
  KVPAGE_HOST_DEVICE uint32_t AskLowest(G& g, const Seen& seen, uint32_t n, Grant& mine) const {
    const uint32_t shard = g.First(seen.shows > 0);
    if (g.rank() == shard && seen.shows >= n) mine = {shard, Attempt(shard, n, n, seen.supply)};
    return g.Any(mine.count > 0) ? shard : kNone;
  }

  // Reserves blocks of any shards, at most `most` and at least one, the shards nearest to `home`
  // first; each lane answers what it got. None at all: there was an instant without a free block.
  // The caller takes the blocks and then calls Settle. Collective.
  template <Group G>
  KVPAGE_HOST_DEVICE Grant AskAll(G& g, uint32_t most, uint32_t home) const {
    for (uint32_t attempt = 0;; ++attempt) {
      const Scan scan = ScanShards(g, 1, home);
      if (scan.bound < 1) return {};
      // Each lane asks the nearest of its shards that shows any.
      const uint32_t shows = scan.distance == kNone ? 0 : Least(scan.shows, most);
      uint32_t total;
      const uint32_t before = g.ExclusiveScan(shows, total);
      Grant mine;
      if (before < most && shows > 0) {
        mine.shard = ShardAt(home, scan.distance);
        mine.count = Attempt(mine.shard, 1, Least(shows, most - before), scan.supply);
      }
      if (g.Any(mine.count > 0)) return mine;
      A::Pause(attempt);
    }
  }

  // Ends grants whose blocks have been claimed. The lane that settles is the one whose attempt
  // succeeded: its own fence orders what it saw, and what all lanes did before they met to ask. The
  // Sync behind the fence lets all lanes have what the claiming lanes acquired. Collective.
  template <Group G>
  KVPAGE_HOST_DEVICE void Settle(G& g, const Grant& mine) const {
    A::FenceAcqRel();  // F2
    g.Sync();
    if (mine.count > 0) A::AddRelaxed(granted(mine.shard), uint64_t{mine.count});
  }

  // Returns n blocks of a shard. The caller has executed FenceAcqRel (F0 or F1) and then made the
  // blocks findable. Linearization point of a release.
  KVPAGE_HOST_DEVICE void Credit(uint32_t shard, uint64_t n) const {
    A::AddRelaxed(supply(shard), n);
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
      uint32_t take = before < missing ? Least(free, missing - before) : 0;
      if (take > 0) take = Attempt(s, 1, take, seen_supply);
      hand.Set(slot, hand.Get(slot) + take);
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
      const uint64_t count = hand.Get(slot);
      uint64_t total;
      const uint64_t before = passed + g.ExclusiveScan(count, total);
      passed += total;
      const uint64_t kept = before >= keep ? 0 : (count < keep - before ? count : keep - before);
      if (count > kept) A::AddRelaxed(asked(base + g.rank()), kept - count);
      hand.Set(slot, static_cast<uint32_t>(kept));
    }
  }

  // Calls claim for each part of the hand, in shard order, as Take does. Collective.
  template <Group G, class Claim>
  KVPAGE_HOST_DEVICE void ClaimHand(G& g, const Hand<G>& hand, Claim claim) const {
    uint64_t offset = 0;
    uint32_t slot = 0;
    for (uint32_t base = 0; base < num_shards(); base += g.size(), ++slot) {
      const uint64_t count = hand.Get(slot);
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
  }

  // Ends a hand whose blocks have been claimed. Collective.
  template <Group G>
  KVPAGE_HOST_DEVICE void SettleHand(G& g, const Hand<G>& hand) const {
    // The parts are one success: what every lane saw goes before every lane's settlement.
    A::FenceAcqRel();
    g.Sync();
    A::FenceAcqRel();  // F2
    g.Sync();
    uint32_t slot = 0;
    for (uint32_t s = g.rank(); s < num_shards(); s += g.size(), ++slot) {
      const uint32_t count = hand.Get(slot);
      if (count > 0) A::AddRelaxed(granted(s), uint64_t{count});
    }
  }

 private:
  // Collects n blocks over the shards, keeping its hand from pass to pass (giving it back after
  // each would let two requests starve each other for ever). False: exactly Full, hand given back.
  template <Group G>
  KVPAGE_HOST_DEVICE bool Gather(G& g, uint32_t n, Hand<G>& hand) const {
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
