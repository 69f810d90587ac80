// SPDX-License-Identifier: Apache-2.0
//
// kvpage/core/row_slots.h
//
// The slot mapping that Append and BeginDraft write: for each new token, rows in batch order, where
// its KV is to be stored; -1 for the tokens of a row that failed, and from the last token to the
// end.
//
// Run by one group, after the rows are published, or by the lane of each row before.

#ifndef KVPAGE_CORE_ROW_SLOTS_H_
#define KVPAGE_CORE_ROW_SLOTS_H_

#include <cstdint>

#include "kvpage/core/grow_row.h"
#include "kvpage/core/place_finder.h"
#include "kvpage/core/row_batch.h"

namespace kvpage {

template <Atomics A, Group G>
class RowSlots {
 public:
  // Nothing is written if `slots` is null.
  KVPAGE_HOST_DEVICE RowSlots(G& g, int64_t* slots, int64_t capacity)
      : g_(g), slots_(slots), capacity_(static_cast<uint64_t>(capacity)) {}

  KVPAGE_HOST_DEVICE bool wanted() const { return slots_ != nullptr; }
  KVPAGE_HOST_DEVICE bool HasRoom(uint64_t first, uint32_t tokens) const {
    return tokens == 0 || first + tokens <= capacity_;
  }

  // Those of one row, by its lane.
  template <class Plan>
  KVPAGE_HOST_DEVICE void WriteRow(const Plan& plan, const GrowRow& row) const {
    if (!wanted()) return;
    int64_t* const its_slots = slots_ + row.first_slot;
    if (row.status == OpStatus::kOk) {
      plan.ForEachSlot(row, [&](uint32_t j, int64_t slot) { its_slots[j] = slot; });
      return;
    }
    for (uint32_t j = 0; j < row.num_slots() && row.first_slot + j < capacity_; ++j) {
      its_slots[j] = -1;
    }
  }

  // The first `num_slots`, shared out over all lanes: slot_of(i, j) is slot number j of place i,
  // and offsets[i] the number of its first. Another lane's rows have been published, and a Sync
  // after.
  template <class SlotOf>
  KVPAGE_HOST_DEVICE void WriteAll(const RowBatchRun<A, G>& rows, uint64_t num_slots,
                                   const uint64_t* offsets, SlotOf slot_of) const {
    if (!wanted()) return;
    PlaceFinder<uint64_t> finder(offsets, rows.size());
    for (uint64_t at = g_.rank(); at < num_slots && at < capacity_; at += g_.size()) {
      const uint32_t i = finder.Find(at);
      slots_[at] = rows.ok(i) ? slot_of(i, finder.Within(at)) : -1;
    }
  }

  // None from number `begin` on.
  KVPAGE_HOST_DEVICE void Fill(uint64_t begin) const {
    if (!wanted()) return;
    for (uint64_t at = begin + g_.rank(); at < capacity_; at += g_.size()) slots_[at] = -1;
  }

 private:
  G& g_;
  int64_t* slots_;
  uint64_t capacity_;
};

}  // namespace kvpage

#endif  // KVPAGE_CORE_ROW_SLOTS_H_
