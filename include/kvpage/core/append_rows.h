// SPDX-License-Identifier: Apache-2.0
//
// kvpage/core/append_rows.h
//
// The batch operations Reserve and Append: blocks for more tokens of a row, and, for Append, the
// longer length, the slot of each new token, and the copy of a shared partial tail.
//
// Run by one group; collective. A row's entries are all written before the one release store of its
// sequence word. See batch.h for what it answers.
//
// This is the general way, for any batch; the common decode step has one of its own
// (append_step.h). A lane keeps what it knows of its row from step to step as long as there are no
// more rows than lanes; with more it looks it up again for each.

#ifndef KVPAGE_CORE_APPEND_ROWS_H_
#define KVPAGE_CORE_APPEND_ROWS_H_

#include <cstdint>

#include "kvpage/core/append_plan.h"
#include "kvpage/core/freed_blocks.h"
#include "kvpage/core/row_batch.h"
#include "kvpage/core/row_grants.h"
#include "kvpage/core/row_slots.h"

namespace kvpage {

template <Atomics A, Group G>
class AppendRows {
 public:
  KVPAGE_HOST_DEVICE AppendRows(G& g, const BlockPoolRef<A>& pool, const PageTableRef<A>& table,
                                const AppendBatch& batch)
      : AppendRows(g, pool, table, batch, true) {}

  KVPAGE_HOST_DEVICE AppendRows(G& g, const BlockPoolRef<A>& pool, const PageTableRef<A>& table,
                                const ReserveBatch& batch)
      : AppendRows(g, pool, table, AppendBatch{.batch = batch.batch, .tokens = batch.tokens},
                   false) {}

  KVPAGE_HOST_DEVICE void Run() {
    Rows rows(g_, table_, batch_.batch);
    rows.ClearCopies(batch_.copies);
    if (g_.rank() < rows.size()) row_ = plan_.Look(rows, g_.rank());
    g_.Sync();  // before IsFirst
    const Totals totals = Plan(rows);
    if (rows.CancelUnlessAllOk()) return slots_.Fill(0);
    // Few blocks and slots for each row: its lane sees to them. Else all lanes share them out.
    const bool by_row = g_.size() == 1 || !g_.Any(totals.most > kFew);
    if (totals.blocks == 0 && by_row) {
      PublishRows(rows, {.by_row = true});
      return slots_.Fill(totals.slots);
    }
    g_.Sync();  // before another lane's block_offsets are read
    RowGrants<A, G> grants(g_, pool_, rows, table_.storage(), totals.blocks);
    const bool some_failed = grants.Reserve();
    const auto place = [&](uint32_t i, uint32_t k, BlockId id) {
      AppendRow row = Again(rows, i);
      Place(row, i, k, id);
    };
    const bool listed = grants.Claim(place);
    if (listed && by_row) {
      for (uint32_t i = g_.rank(); i < rows.size(); i += g_.size()) {
        Recall(rows, i, some_failed);
        for (uint32_t k = 0; k < row_.need; ++k) {
          Place(row_, i, k, grants.TakeListed(row_.first_block + k));
        }
      }
    } else if (listed) {
      grants.PlaceListed(place);
    }
    grants.Settle();
    PublishRows(rows, {.by_row = by_row && listed,
                       .is_fenced = grants.wanted() > 0,
                       .must_recall = some_failed || !by_row || !listed});
    if (!by_row || !listed) {
      g_.Sync();
      slots_.WriteAll(rows, batch_.tokens, totals.slots);
    }
    slots_.Fill(totals.slots);
  }

 private:
  using Rows = RowBatchRun<A, G>;

  struct Totals {
    uint64_t blocks = 0;
    uint64_t slots = 0;
    uint32_t most = 0;  // of this lane's rows: blocks or tokens of one
  };
  struct Publishing {
    bool by_row = false;       // each lane writes its rows' slots
    bool is_fenced = false;    // this lane has executed a fence since all entries were written
    bool must_recall = false;  // what lanes know of their rows is out of date
  };

  // In storage.needs, beside the number of blocks.
  static constexpr uint32_t kReplaces = ~RowGrants<A, G>::kNeedMask;
  static constexpr uint32_t kFew = 8;

  KVPAGE_HOST_DEVICE AppendRows(G& g, const BlockPoolRef<A>& pool, const PageTableRef<A>& table,
                                const AppendBatch& batch, bool appends)
      : g_(g),
        pool_(pool),
        table_(table),
        batch_(batch),
        slots_(g, table, batch.slots, batch.slot_capacity),
        plan_(pool, table, batch, appends) {}

  // A row that has been planned, by any lane, before it is published.
  KVPAGE_HOST_DEVICE AppendRow Again(const Rows& rows, uint32_t i) const {
    AppendRow row;
    row.status = rows.status(i);
    row.tokens = batch_.tokens[i] < 0 ? 0 : static_cast<uint32_t>(batch_.tokens[i]);
    row.first_slot = slots_.wanted() ? table_.storage().slot_offsets[i] : 0;
    if (row.status != OpStatus::kOk) return row;
    row.need = table_.storage().needs[i] & ~kReplaces;
    row.replaces = (table_.storage().needs[i] & kReplaces) != 0;
    row.first_block = table_.storage().block_offsets[i];
    plan_.LookUp(row, rows.row(i), row.need);
    return row;
  }
  // Makes row_ place i, one of this lane's.
  KVPAGE_HOST_DEVICE void Recall(const Rows& rows, uint32_t i, bool is_out_of_date) {
    if (rows.size() > g_.size() || is_out_of_date) row_ = Again(rows, i);
  }

  KVPAGE_HOST_DEVICE Totals Plan(const Rows& rows) {
    Totals totals;
    for (uint32_t base = 0; base < rows.size(); base += g_.size()) {
      const uint32_t i = base + g_.rank();
      const bool is_place = i < rows.size();
      if (base > 0) row_ = is_place ? plan_.Look(rows, i) : AppendRow{};
      if (row_.in_table && !rows.IsFirst(i, row_.row)) row_.status = OpStatus::kInvalid;
      uint64_t total;
      if (slots_.wanted()) {
        // Also for a row that fails: the slots of the others stay in their places.
        row_.first_slot = totals.slots + g_.ExclusiveScan(uint64_t{row_.tokens}, total);
        totals.slots += total;
        if (!slots_.HasRoom(row_.first_slot, row_.tokens)) row_.status = OpStatus::kInvalid;
      }
      if (row_.status != OpStatus::kOk) row_.need = 0;
      const uint64_t before = totals.blocks + g_.ExclusiveScan(uint64_t{row_.need}, total);
      totals.blocks += total;
      row_.first_block = static_cast<uint32_t>(before);
      totals.most = Greatest(totals.most, Greatest(row_.need, row_.tokens));
      if (!is_place) continue;
      rows.set_status(i, row_.status);
      const PageTableStorage& s = table_.storage();
      s.needs[i] = row_.need | (row_.replaces ? kReplaces : 0);
      s.block_offsets[i] = row_.first_block;
      if (slots_.wanted()) s.slot_offsets[i] = row_.first_slot;
    }
    return totals;
  }

  // Block number k for the row at place i.
  KVPAGE_HOST_DEVICE void Place(AppendRow& row, uint32_t i, uint32_t k, BlockId id) const {
    uint32_t index = row.held + k;
    if (row.replaces) {
      --index;
      if (k == 0) {
        const uint32_t kv_len = static_cast<uint32_t>(row.state.kv_len);
        index = kv_len / table_.block_tokens();
        batch_.copies[i] = {row.next, id, static_cast<int32_t>(kv_len % table_.block_tokens())};
        row.next = id;
      }
    }
    if (row.next == kNullBlock) row.next = id;
    table_.SetEntry(row.row, index, id);
  }

  KVPAGE_HOST_DEVICE void PublishRows(const Rows& rows, const Publishing& how) {
    auto w = g_.subgroup();
    FreedBlocks<A, decltype(w)> freed(pool_.gate(), pool_.bits(), w);
    for (uint32_t base = 0; base < rows.size(); base += g_.size()) {
      const uint32_t i = base + g_.rank();
      BlockId replaced = kNullBlock;
      bool last = false;
      if (i < rows.size()) {
        Recall(rows, i, how.must_recall);
        if (row_.status == OpStatus::kOk) {
          if (row_.replaces) {
            replaced = batch_.copies[i].src;
            // Between the fence of Settle and that of Flush: who replaces a tail was granted
            // blocks.
            last =
                pool_.words().DropBetweenFences(replaced, 1, BlockPoolRef<A>::kAnyGeneration).last;
          }
          plan_.Publish(row_, how.is_fenced);
        }
        if (how.by_row) {
          slots_.WriteRow(row_.status == OpStatus::kOk, row_.row, row_.state.kv_len, row_.next,
                          row_.tokens, row_.first_slot);
        }
      }
      freed.Add(last, replaced);
    }
    freed.Flush();
  }
  KVPAGE_HOST_DEVICE static uint32_t Greatest(uint32_t a, uint32_t b) { return a < b ? b : a; }

  G& g_;
  const BlockPoolRef<A>& pool_;
  const PageTableRef<A>& table_;
  const AppendBatch batch_;
  const RowSlots<A, G> slots_;
  const AppendPlan<A, G> plan_;
  AppendRow row_;
};

}  // namespace kvpage

#endif  // KVPAGE_CORE_APPEND_ROWS_H_
