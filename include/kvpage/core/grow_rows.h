// SPDX-License-Identifier: Apache-2.0
//
// kvpage/core/grow_rows.h
//
// The batch operations that give blocks to rows, by their plans (grow_row.h): Reserve, Append and
// BeginDraft. Blocks of completed epochs become free first.
//
// Run by one group; collective. A row's entries are all written before the one release store of its
// sequence word.
//
// This is the general way, for any batch; the common decode step has one of its own (grow_step.h).
// A lane keeps what it knows of its row from step to step as long as there are no
// more rows than lanes; with more it looks it up again for each.

#ifndef KVPAGE_CORE_GROW_ROWS_H_
#define KVPAGE_CORE_GROW_ROWS_H_

#include <cstdint>

#include "kvpage/core/freed_blocks.h"
#include "kvpage/core/grow_row.h"
#include "kvpage/core/grow_step.h"
#include "kvpage/core/row_batch.h"
#include "kvpage/core/row_grants.h"
#include "kvpage/core/row_slots.h"

namespace kvpage {

template <Atomics A, Group G, class Plan>
class GrowRows {
 public:
  using Step = GrowStep<A, G, Plan>;

  template <class Batch>
  KVPAGE_HOST_DEVICE GrowRows(G& g, const BlockPoolRef<A>& pool, const PageTableRef<A>& table,
                              const Batch& batch)
      : g_(g),
        pool_(pool),
        table_(table),
        plan_(pool, table, batch),
        slots_(g, plan_.slots(), plan_.slot_capacity()) {}

  KVPAGE_HOST_DEVICE void Run() {
    const Rows rows(g_, table_, plan_.batch());
    plan_.ClearCopies(rows);
    if (g_.rank() < rows.size()) row_ = plan_.Look(rows, plan_.Read(g_.rank()));
    g_.Sync();  // before IsFirst
    const Totals totals = PlanRows(rows);
    if (rows.CancelUnlessAllOk()) return slots_.Fill(0);
    // Few blocks and slots for each row: its lane sees to them. Else all lanes share them out.
    const bool by_row = g_.size() == 1 || !g_.Any(totals.most > kFew);
    if (totals.blocks == 0 && by_row) {
      PublishRows(rows, {.by_row = true});
      return slots_.Fill(totals.slots);
    }
    // Not by how the work is shared out: the state must not depend on the machine.
    if (totals.blocks > 0) pool_.Drain(g_);
    g_.Sync();  // before another lane's block_offsets are read
    RowGrants<A, G> grants(g_, pool_, rows, table_.storage(), totals.blocks);
    const bool some_failed = grants.Reserve();
    const auto place = [&](uint32_t i, uint32_t k, BlockId id) {
      GrowRow row = Again(rows, i);
      plan_.Place(row, i, k, id);
    };
    const bool listed = grants.Claim(place);
    if (listed && by_row) {
      for (uint32_t i = g_.rank(); i < rows.size(); i += g_.size()) {
        Recall(rows, i, some_failed);
        for (uint32_t k = 0; k < row_.need; ++k) {
          plan_.Place(row_, i, k, grants.TakeListed(row_.first_block + k));
        }
      }
    } else if (listed) {
      grants.PlaceListed(place);
    }
    grants.Settle();
    PublishRows(rows, {.by_row = by_row && listed,
                       .is_fenced = grants.wanted() > 0,
                       .must_recall = some_failed || !by_row || !listed,
                       .replaces = totals.replaces});
    if (!by_row || !listed) {
      g_.Sync();
      slots_.WriteAll(rows, totals.slots, table_.storage().slot_offsets,
                      [&](uint32_t i, uint32_t j) { return plan_.SlotOf(Again(rows, i), j); });
    }
    slots_.Fill(totals.slots);
  }

 private:
  using Rows = RowBatchRun<A, G>;

  struct Totals {
    uint64_t blocks = 0;
    uint64_t slots = 0;
    uint32_t most = 0;      // of this lane's rows: blocks or tokens of one
    bool replaces = false;  // one of this lane's rows is to let go of its tail
  };
  struct Publishing {
    bool by_row = false;       // each lane writes its rows' slots
    bool is_fenced = false;    // this lane has executed a fence since all entries were written
    bool must_recall = false;  // what lanes know of their rows is out of date
    bool replaces = false;     // one of this lane's rows was to let go of its tail
  };

  // In storage.needs, beside the number of blocks.
  static constexpr uint32_t kReplaces = ~RowGrants<A, G>::kNeedMask;
  static constexpr uint32_t kFew = 8;

  // A row that has been planned, by any lane.
  KVPAGE_HOST_DEVICE GrowRow Again(const Rows& rows, uint32_t i) const {
    GrowRow row;
    row.status = rows.status(i);
    row.first_slot = slots_.wanted() ? table_.storage().slot_offsets[i] : 0;
    if (row.status == OpStatus::kOk) {
      row.need = table_.storage().needs[i] & ~kReplaces;
      row.replaces = (table_.storage().needs[i] & kReplaces) != 0;
      row.first_block = table_.storage().block_offsets[i];
    }
    plan_.Again(rows, i, row);
    return row;
  }
  // Makes row_ place i, one of this lane's.
  KVPAGE_HOST_DEVICE void Recall(const Rows& rows, uint32_t i, bool is_out_of_date) {
    if (rows.size() > g_.size() || is_out_of_date) row_ = Again(rows, i);
  }

  KVPAGE_HOST_DEVICE Totals PlanRows(const Rows& rows) {
    Totals totals;
    for (uint32_t base = 0; base < rows.size(); base += g_.size()) {
      const uint32_t i = base + g_.rank();
      const bool is_place = i < rows.size();
      if (base > 0) row_ = is_place ? plan_.Look(rows, plan_.Read(i)) : GrowRow{};
      if (row_.in_table && !rows.IsFirst(i, row_.row)) row_.status = OpStatus::kInvalid;
      uint64_t total;
      if (slots_.wanted()) {
        // Also for a row that fails: the slots of the others stay in their places.
        row_.first_slot = totals.slots + g_.ExclusiveScan(uint64_t{row_.num_slots()}, total);
        totals.slots += total;
        if (!slots_.HasRoom(row_.first_slot, row_.num_slots())) row_.status = OpStatus::kInvalid;
      }
      if (row_.status != OpStatus::kOk) row_.need = 0;
      totals.replaces |= row_.need > 0 && row_.replaces;
      const uint64_t before = totals.blocks + g_.ExclusiveScan(uint64_t{row_.need}, total);
      totals.blocks += total;
      row_.first_block = static_cast<uint32_t>(before);
      totals.most = Greatest(totals.most, Greatest(row_.need, row_.num_slots()));
      if (!is_place) continue;
      rows.set_status(i, row_.status);
      const PageTableStorage& s = table_.storage();
      s.needs[i] = row_.need | (row_.replaces ? kReplaces : 0);
      s.block_offsets[i] = row_.first_block;
      if (slots_.wanted()) s.slot_offsets[i] = row_.first_slot;
    }
    return totals;
  }

  KVPAGE_HOST_DEVICE void PublishRows(const Rows& rows, const Publishing& how) {
    // Only if it is needed, as in the short way: which epochs have sets is part of the state.
    uint32_t set = PendingBlocksRef<A>::kNoSet;
    if (g_.Any(how.replaces)) set = pool_.pending().ChooseSet(g_, plan_.fence());
    auto w = g_.subgroup();
    FreedBlocks<A, decltype(w)> freed(pool_.gate(), pool_.bits(), pool_.pending(), set, w);
    for (uint32_t base = 0; base < rows.size(); base += g_.size()) {
      const uint32_t i = base + g_.rank();
      BlockId replaced = kNullBlock;
      bool last = false;
      if (i < rows.size()) {
        Recall(rows, i, how.must_recall);
        if (row_.status == OpStatus::kOk) {
          replaced = plan_.Replaced(row_, i);
          // Between the fence of Settle and that of Flush: who replaces a tail was granted blocks.
          if (replaced != kNullBlock) {
            last =
                pool_.words().DropBetweenFences(replaced, 1, BlockPoolRef<A>::kAnyGeneration).last;
          }
          plan_.Publish(row_, how.is_fenced);
        }
        if (how.by_row) slots_.WriteRow(plan_, row_);
      }
      freed.Add(last, replaced);
    }
    freed.Flush();
  }
  KVPAGE_HOST_DEVICE static uint32_t Greatest(uint32_t a, uint32_t b) { return a < b ? b : a; }

  G& g_;
  const BlockPoolRef<A>& pool_;
  const PageTableRef<A>& table_;
  const Plan plan_;
  const RowSlots<A, G> slots_;
  GrowRow row_;
};

}  // namespace kvpage

#endif  // KVPAGE_CORE_GROW_ROWS_H_
