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
// Thread safety: one group per batch; the pool may be in use by anybody.
// Memory ordering: that of ExactGateRef and FreeBitsRef.
// Cost: one pass over the shards, one scan over the rows, one fetch-and per leaf word used. When
//   blocks run short, one scan more for each distinct shortage.

#ifndef KVPAGE_CORE_ROW_GRANTS_H_
#define KVPAGE_CORE_ROW_GRANTS_H_

#include <cstdint>

#include "kvpage/core/block_pool_ref.h"
#include "kvpage/core/row_batch.h"

namespace kvpage {

template <Atomics A, Group G>
class RowGrants {
 public:
  // needs[i] & kNeedMask: blocks that place i needs, if its status is kOk. `offsets`: scratch.
  static constexpr uint32_t kNeedMask = 0x7fffffff;

  KVPAGE_HOST_DEVICE RowGrants(G& g, const BlockPoolRef<A>& pool, const RowBatchRun<A, G>& rows,
                               const uint32_t* needs, uint32_t* offsets)
      : g_(g), pool_(pool), rows_(rows), needs_(needs), offsets_(offsets) {}

  // Sets the status of places that get nothing, and calls place(i, k, id) for block number k of
  // every other place i, in any lane. Collective.
  template <class Place>
  KVPAGE_HOST_DEVICE void Grant(Place place) {
    const ExactGateRef<A>& gate = pool_.gate();
    Hand<G> hand;
    uint64_t wanted = CountWanted();
    if (wanted == 0) return;
    if (rows_.all_or_none() && wanted > gate.capacity()) return FailAll(OpStatus::kNeverFits);

    for (uint32_t attempt = 0; !gate.TryLock(g_); ++attempt) A::Pause(attempt);
    uint64_t held = 0;
    uint64_t kept = 0;
    for (uint32_t attempt = 0;; ++attempt) {
      held = gate.GatherPass(g_, wanted, held, hand);
      // What may be free besides, at most. The hand is not settled, so the bound counts it as well.
      uint64_t beside = 0;
      if (held < wanted) {
        const int64_t bound = gate.ScanShards(g_, 0, 0).bound;
        beside = bound > static_cast<int64_t>(held) ? static_cast<uint64_t>(bound) - held : 0;
      }
      if (Decide(wanted, held, beside, kept)) break;
      wanted = CountWanted();
      A::Pause(attempt);
    }
    gate.GiveBack(g_, kept, hand);
    gate.Unlock(g_);

    ScanNeeds();
    gate.ClaimAndSettleHand(g_, hand, [&](auto w, uint32_t shard, uint32_t count, uint32_t at) {
      PlaceFinder<uint32_t> finder(offsets_, rows_.size());
      pool_.bits().Claim(w, shard, count, 0,
                         [&](auto& lanes, uint32_t position, uint32_t before, uint32_t total,
                             BlockId first, uint64_t got) {
                           FreeBitsRef<A>::ShareOut(lanes, before, total, first, got,
                                                    [&](uint32_t number, BlockId id) {
                                                      const uint32_t item = at + position + number;
                                                      const uint32_t i = finder.Find(item);
                                                      pool_.words().Own(id);
                                                      place(i, finder.Within(item), id);
                                                    });
                         });
    });
  }

 private:
  static constexpr uint64_t kNone = ~uint64_t{0};

  KVPAGE_HOST_DEVICE uint64_t Need(uint32_t i) const {
    return i < rows_.size() && rows_.ok(i) ? needs_[i] & kNeedMask : 0;
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
  KVPAGE_HOST_DEVICE bool Decide(uint64_t wanted, uint64_t held, uint64_t beside, uint64_t& kept) {
    kept = wanted;
    if (held >= wanted) return true;
    if (rows_.all_or_none()) {
      if (held + beside >= wanted) return false;
      FailAll(OpStatus::kFull);
      kept = 0;
      return true;
    }
    uint64_t left = held;
    for (uint32_t base = 0; base < rows_.size(); base += g_.size()) {
      const uint32_t i = base + g_.rank();
      uint64_t need = Need(i);
      for (;;) {
        uint64_t total;
        const uint64_t before = g_.ExclusiveScan(need, total);
        if (total <= left) {
          left -= total;
          break;
        }
        const bool is_short = need > 0 && before + need > left;
        const uint32_t first = static_cast<uint32_t>(g_.Min(is_short ? g_.rank() : kNone));
        const uint64_t left_for_it = left - g_.Shuffle(before, first);
        if (g_.Shuffle(need, first) <= left_for_it + beside) return false;
        // The places after it find no more than it did.
        if (g_.rank() >= first && need > left_for_it + beside) {
          rows_.set_status(i, OpStatus::kFull);
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
      const uint64_t before = passed + g_.ExclusiveScan(Need(i), total);
      if (i < rows_.size()) offsets_[i] = static_cast<uint32_t>(before);
      passed += total;
    }
    g_.Sync();
  }

  G& g_;
  const BlockPoolRef<A>& pool_;
  const RowBatchRun<A, G>& rows_;
  const uint32_t* needs_;
  uint32_t* offsets_;
};

}  // namespace kvpage

#endif  // KVPAGE_CORE_ROW_GRANTS_H_
