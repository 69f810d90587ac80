// SPDX-License-Identifier: Apache-2.0
//
// kvpage/core/row_grants.h
//
// Blocks for the rows of a batch: decides in batch order which rows get what they need, and hands
// out the lowest free ids, so that equal state and equal batches give equal ids on every machine.
//
// Each row is all-or-nothing. A row that does not fit is passed over and the next ones still get
// theirs; kFull is exact for each: at one instant of the call the blocks that were free, less those
// of the rows before it, were fewer than it needs. Deterministic as long as nobody else allocates.
//
// Use: Reserve; Claim, and if it lists the ids, PlaceListed or TakeListed for each; Settle. All but
// TakeListed are collective and called once.
//
// Thread safety: one group per batch; the pool may be in use by anybody.
// Memory ordering: that of ExactGateRef and FreeBitsRef. After Settle every lane has executed a
//   fence behind what any lane placed: a relaxed store then publishes it.
// Cost: where the lowest shard with blocks serves the batch: 2 loads per shard and 1 fetch-and-add.
//   Else the lock and a pass over the shards; when blocks run short, one scan over the rows more
//   for each distinct shortage. Then one fetch-and per leaf word used, 1 fetch-and-add per block.

#ifndef KVPAGE_CORE_ROW_GRANTS_H_
#define KVPAGE_CORE_ROW_GRANTS_H_

#include <cstdint>

#include "kvpage/core/block_pool_ref.h"
#include "kvpage/core/place_finder.h"
#include "kvpage/core/row_batch.h"

namespace kvpage {

template <Atomics A, Group G>
class RowGrants {
 public:
  static constexpr uint32_t kNeedMask = 0x7fffffff;

  // storage.needs[i] & kNeedMask: blocks that place i needs, if its status is kOk;
  // storage.block_offsets[i]: blocks that the places before it need; `wanted`: all of them. All
  // written, and a Sync after.
  KVPAGE_HOST_DEVICE RowGrants(G& g, const BlockPoolRef<A>& pool, const RowBatchRun<A, G>& rows,
                               const PageTableStorage& storage, uint64_t wanted)
      : g_(g), pool_(pool), rows_(rows), s_(storage), wanted_(wanted) {}

  // Decides; sets the status of places that get nothing, and answers whether there are any. If so,
  // block_offsets are those of the others now.
  KVPAGE_HOST_DEVICE bool Reserve() {
    if (wanted_ == 0 || TryLowestShard()) return false;
    const ExactGateRef<A>& gate = pool_.gate();
    if (rows_.all_or_none() && wanted_ > gate.capacity()) {
      FailAll(OpStatus::kNeverFits);
      wanted_ = 0;
      return true;
    }
    const uint64_t at_first = wanted_;
    for (uint32_t attempt = 0; !gate.TryLock(g_); ++attempt) A::Pause(attempt);
    uint64_t held = 0;
    uint64_t kept = 0;
    for (uint32_t attempt = 0;; ++attempt) {
      held = gate.GatherPass(g_, wanted_, held, hand_);
      // What may be free besides, at most. The hand is not settled, so the bound counts it as well.
      uint64_t beside = 0;
      if (held < wanted_) {
        const int64_t bound = gate.ScanShards(g_, 0, 0).bound;
        beside = bound > static_cast<int64_t>(held) ? static_cast<uint64_t>(bound) - held : 0;
      }
      if (Decide(held, beside, kept)) break;
      wanted_ = CountWanted();
      A::Pause(attempt);
    }
    gate.GiveBack(g_, kept, hand_);
    gate.Unlock(g_);
    const bool all_served = kept == at_first;
    wanted_ = kept;
    if (!all_served) ScanNeeds();
    return !all_served;
  }

  // Claims what was granted: to storage.ids, in the order of the places, and then answers true; or,
  // where that list is too short, by calling place(i, k, id) for block number k of each place i, in
  // any lane.
  template <class Place>
  KVPAGE_HOST_DEVICE bool Claim(Place place) {
    if (wanted_ == 0) return false;
    const bool listed = wanted_ <= s_.num_ids();
    PlaceFinder<uint32_t> finder(s_.block_offsets, rows_.size());
    const auto claim = [&](auto w, uint32_t shard, uint32_t count, uint32_t at) {
      pool_.bits().Claim(w, shard, count, 0, pool_.bits().Look(w, shard, 0),
                         [&](auto& lanes, uint32_t position, const ClaimedBlocks& claimed) {
                           claimed.ForEach(lanes, [&](uint32_t number, BlockId id) {
                             const uint32_t item = at + position + number;
                             if (listed) {
                               s_.ids[item] = id;
                             } else {
                               PlaceItem(finder, item, id, place);
                             }
                           });
                         });
    };
    if (shard_ == kNone) {
      pool_.gate().ClaimHand(g_, hand_, claim);
    } else if (g_.subgroup_index() == 0) {
      claim(g_.subgroup(), shard_, static_cast<uint32_t>(wanted_), 0u);
    }
    if (listed) g_.Sync();
    return listed;
  }

  // Calls place(i, k, id) for every block of the list, each in any lane.
  template <class Place>
  KVPAGE_HOST_DEVICE void PlaceListed(Place place) const {
    PlaceFinder<uint32_t> finder(s_.block_offsets, rows_.size());
    for (uint32_t item = g_.rank(); item < wanted_; item += g_.size()) {
      PlaceItem(finder, item, s_.ids[item], place);
    }
  }

  // Number `item` of the list, for its row.
  KVPAGE_HOST_DEVICE BlockId TakeListed(uint32_t item) const {
    const BlockId id = s_.ids[item];
    pool_.words().Own(id);
    return id;
  }

  KVPAGE_HOST_DEVICE void Settle() {
    if (wanted_ == 0) return;
    g_.Sync();  // before the fence that publishes what other lanes placed
    if (shard_ == kNone) {
      pool_.gate().SettleHand(g_, hand_);
    } else {
      pool_.gate().Settle(g_, mine_);
    }
  }

  KVPAGE_HOST_DEVICE uint64_t wanted() const { return wanted_; }

 private:
  static constexpr uint32_t kNone = ~uint32_t{0};

  template <class Place>
  KVPAGE_HOST_DEVICE void PlaceItem(PlaceFinder<uint32_t>& finder, uint32_t item, BlockId id,
                                    Place& place) const {
    const uint32_t i = finder.Find(item);
    pool_.words().Own(id);
    place(i, finder.Within(item), id);
  }

  // The common case: the lowest shard that shows a free block has as many as are wanted.
  KVPAGE_HOST_DEVICE bool TryLowestShard() {
    uint32_t shard = kNone;
    if (g_.subgroup_index() == 0 && wanted_ <= pool_.gate().capacity()) {
      auto w = g_.subgroup();
      const auto seen = pool_.gate().LookAtLowest(w);
      shard = pool_.gate().AskLowest(w, seen, static_cast<uint32_t>(wanted_), mine_);
    }
    shard_ = g_.Shuffle(shard, 0);
    return shard_ != kNone;
  }

  KVPAGE_HOST_DEVICE uint32_t Need(uint32_t i) const {
    return i < rows_.size() && rows_.ok(i) ? s_.needs[i] & kNeedMask : 0;
  }

  KVPAGE_HOST_DEVICE uint64_t CountWanted() const {
    uint64_t wanted = 0;
    for (uint32_t i = g_.rank(); i < rows_.size(); i += g_.size()) wanted += Need(i);
    return g_.Sum(wanted);
  }

  KVPAGE_HOST_DEVICE void FailAll(OpStatus status) const {
    for (uint32_t i = g_.rank(); i < rows_.size(); i += g_.size()) {
      if (rows_.ok(i)) rows_.set_status(i, Need(i) > 0 ? status : OpStatus::kCancelled);
    }
  }

  // With `held` blocks in hand and at most `beside` more free: who gets how much? False if that
  // cannot be said yet. Places that certainly get nothing are marked on the way.
  KVPAGE_HOST_DEVICE bool Decide(uint64_t held, uint64_t beside, uint64_t& kept) {
    kept = wanted_;
    if (held >= wanted_) return true;
    if (rows_.all_or_none()) {
      if (held + beside >= wanted_) return false;
      FailAll(pool_.pending().FullOrRetry(wanted_, held + beside));
      kept = 0;
      return true;
    }
    uint64_t left = held;
    for (uint32_t base = 0; base < rows_.size(); base += g_.size()) {
      const uint32_t i = base + g_.rank();
      const uint64_t wants = Need(i);
      uint64_t need = wants;
      for (;;) {
        uint64_t total;
        const uint64_t before = g_.ExclusiveScan(need, total);
        if (total <= left) {
          // How many each place finds is known only now that those before it are decided.
          if (need < wants) {
            rows_.set_status(i, pool_.pending().FullOrRetry(wants, left - before + beside));
          }
          left -= total;
          break;
        }
        const bool is_short = need > 0 && before + need > left;
        const uint32_t first = g_.Min(is_short ? g_.rank() : kNone);
        const uint64_t left_for_it = left - g_.Shuffle(before, first);
        if (g_.Shuffle(need, first) <= left_for_it + beside) return false;
        // The places after it find no more than it did.
        if (g_.rank() >= first && need > left_for_it + beside) {
          rows_.set_status(i, pool_.pending().FullOrRetry(need, left_for_it + beside));
          need = 0;
        }
      }
    }
    kept = held - left;
    return true;
  }

  KVPAGE_HOST_DEVICE void ScanNeeds() const {
    uint64_t passed = 0;
    for (uint32_t base = 0; base < rows_.size(); base += g_.size()) {
      const uint32_t i = base + g_.rank();
      uint64_t total;
      const uint64_t before = passed + g_.ExclusiveScan(uint64_t{Need(i)}, total);
      if (i < rows_.size()) s_.block_offsets[i] = static_cast<uint32_t>(before);
      passed += total;
    }
    g_.Sync();
  }

  G& g_;
  const BlockPoolRef<A>& pool_;
  const RowBatchRun<A, G>& rows_;
  const PageTableStorage& s_;
  uint64_t wanted_;
  uint32_t shard_ = kNone;  // that serves the batch alone
  typename ExactGateRef<A>::Grant mine_;
  Hand<G> hand_;
};

}  // namespace kvpage

#endif  // KVPAGE_CORE_ROW_GRANTS_H_
