// SPDX-License-Identifier: Apache-2.0
//
// kvpage/core/release_rows.h
//
// The batch operations Truncate and Close: a shorter row, or none, and its blocks released.
//
// Run by one group; collective. The row's word is published before its entries are cleared, so that
// nobody who reads the new word meets a cleared entry. Rows that share blocks release them
// together, one change of a block's word for many rows. A row that is closed gives back the private
// blocks of its draft as well. See batch.h for what the operations answer.

#ifndef KVPAGE_CORE_RELEASE_ROWS_H_
#define KVPAGE_CORE_RELEASE_ROWS_H_

#include <cstdint>

#include "kvpage/core/block_pool_ref.h"
#include "kvpage/core/draft_entries.h"
#include "kvpage/core/freed_blocks.h"
#include "kvpage/core/row_batch.h"
#include "kvpage/core/row_tiles.h"

namespace kvpage {

template <Atomics A, Group G>
class ReleaseRows {
 public:
  KVPAGE_HOST_DEVICE ReleaseRows(G& g, const BlockPoolRef<A>& pool, const PageTableRef<A>& table,
                                 const TruncateBatch& batch)
      : g_(g),
        pool_(pool),
        table_(table),
        batch_(batch.batch),
        tokens_(batch.tokens),
        fence_(batch.fence) {}

  KVPAGE_HOST_DEVICE ReleaseRows(G& g, const BlockPoolRef<A>& pool, const PageTableRef<A>& table,
                                 const CloseBatch& batch)
      : g_(g),
        pool_(pool),
        table_(table),
        batch_(batch.batch),
        tokens_(nullptr),
        fence_(batch.fence) {}

  KVPAGE_HOST_DEVICE void Run() {
    Rows rows(g_, table_, batch_);
    g_.Sync();  // before IsFirst
    for (uint32_t i = g_.rank(); i < rows.size(); i += g_.size()) {
      const bool is_valid = rows.IsRow(i) && rows.IsFirst(i);
      needs()[i] = 0;
      rows.set_status(i, is_valid ? PlanRow(i, rows.row(i)) : OpStatus::kInvalid);
    }
    rows.CancelUnlessAllOk();
    set_ = pool_.pending().ChooseSet(g_, fence_);
    bool some_drafts = false;
    for (uint32_t i = g_.rank(); i < rows.size(); i += g_.size()) {
      if (rows.ok(i)) {
        some_drafts |= Publish(i, rows.row(i));
      } else {
        needs()[i] = 0;
      }
    }
    A::FenceAcqRel();  // F0
    g_.Sync();         // before another lane's entries are cleared
    ReleaseEntries(rows);
    if (closes() && table_.draft_row_blocks() > 0 && g_.Any(some_drafts)) ReleaseDrafts(rows);
  }

 private:
  using Rows = RowBatchRun<A, G>;

  KVPAGE_HOST_DEVICE bool closes() const { return tokens_ == nullptr; }
  KVPAGE_HOST_DEVICE uint32_t* needs() const { return table_.storage().needs; }

  // needs[i]: how many blocks to release.
  KVPAGE_HOST_DEVICE OpStatus PlanRow(uint32_t i, uint32_t row) const {
    if (!closes() && tokens_[i] < 0) return OpStatus::kInvalid;
    const SequenceState state = table_.OwnSequence(row);
    if (!state.open) return OpStatus::kClosed;
    if (!closes() && state.drafting) return OpStatus::kWrongState;
    const uint32_t held = table_.storage().held_blocks[row];
    const uint32_t keep =
        closes() ? 0 : CeilDiv32(static_cast<uint32_t>(tokens_[i]), table_.block_tokens());
    needs()[i] = held > keep ? held - keep : 0;
    return OpStatus::kOk;
  }

  // Whether the row had a draft open.
  KVPAGE_HOST_DEVICE bool Publish(uint32_t i, uint32_t row) const {
    table_.SetHeldBlocks(row, table_.storage().held_blocks[row] - needs()[i]);
    SequenceState state = table_.OwnSequence(row);
    const bool drafting = state.drafting;
    if (closes()) {
      state = {0, state.generation + 1, false, false};
    } else if (tokens_[i] < state.kv_len) {
      state.kv_len = tokens_[i];
      ++state.generation;
    }
    table_.Publish(row, state);
    return drafting;
  }

  // References to one block that rows of a tile release together.
  struct Together {
    BlockId id = kNullBlock;
    uint32_t members = 0;  // one bit for each row of the tile
  };

  KVPAGE_HOST_DEVICE void ReleaseEntries(const Rows& rows) const {
    const auto span = [&](uint32_t place) {
      // Not by its status, which another subgroup may change meanwhile.
      const uint32_t count = needs()[place];
      if (count == 0) return EntrySpan{};
      const uint32_t row = rows.row(place);
      return EntrySpan{row, table_.storage().held_blocks[row], count};
    };
    const auto load = [&](uint32_t row, uint32_t entry) { return table_.Entry(row, entry); };
    ForEachTile(g_, rows.size(), span,
                [&](auto& w, uint32_t first_place, const EntrySpan& mine, uint32_t index) {
                  auto lanes = w;
                  FreedBlocks<A, decltype(lanes)> freed(pool_.gate(), pool_.bits(), pool_.pending(),
                                                        set_, lanes);
                  Together run;
                  const auto end_run = [&](bool ends) {
                    if (!lanes.Any(ends)) return;
                    const BlockId id = run.id;
                    const bool last = ends && DropRun(rows, first_place, run);
                    if (ends) run = {};
                    freed.Add(last, id);
                  };
                  ForEachRowOfTile(w, mine, index, load,
                                   [&](uint32_t j, uint32_t row, uint32_t entry, BlockId id) {
                                     const bool is_other = id != kNullBlock && id != run.id;
                                     end_run(is_other && run.id != kNullBlock);
                                     if (id == kNullBlock) return;
                                     table_.SetEntry(row, entry, kNullBlock);
                                     run.id = id;
                                     run.members |= 1u << j;
                                   });
                  end_run(run.id != kNullBlock);
                  freed.Flush();
                });
  }

  // Private blocks of drafts that were open when their rows were closed.
  KVPAGE_HOST_DEVICE void ReleaseDrafts(const Rows& rows) const {
    g_.Sync();  // before a status is read that another lane may have changed
    auto w = g_.subgroup();
    FreedBlocks<A, decltype(w)> freed(pool_.gate(), pool_.bits(), pool_.pending(), set_, w);
    for (uint32_t base = 0; base < rows.size(); base += g_.size()) {
      const uint32_t i = base + g_.rank();
      const bool is_closed =
          i < rows.size() && (rows.ok(i) || rows.status(i) == OpStatus::kDoubleFree);
      const uint32_t row = is_closed ? rows.row(i) : 0;
      if (!DropDraftEntries(w, pool_, table_, is_closed, row, MisusedBy::kClose, freed)) {
        rows.set_status(i, OpStatus::kDoubleFree);
      }
    }
    freed.Flush();
  }

  // Whether the block is to be made free now.
  KVPAGE_HOST_DEVICE bool DropRun(const Rows& rows, uint32_t first_place,
                                  const Together& run) const {
    constexpr uint32_t kAny = BlockPoolRef<A>::kAnyGeneration;
    const Dropped all = pool_.words().DropBetweenFences(run.id, PopCount(run.members), kAny);
    if (all.status == OpStatus::kOk) return all.last;
    // Somebody released a block that was these rows': tell those that come too late, and carry on.
    bool last = false;
    for (uint32_t left = run.members; left != 0; left &= left - 1) {
      const Dropped one = pool_.words().DropBetweenFences(run.id, 1, kAny);
      last |= one.last;
      if (one.status != OpStatus::kOk) {
        const uint32_t place = first_place + LowestBit(left);
        SetSharedStatus<A>(&batch_.statuses[place], one.status);
        pool_.mirror().Report({.by = closes() ? MisusedBy::kClose : MisusedBy::kTruncate,
                               .status = one.status,
                               .place = static_cast<int32_t>(place),
                               .row = static_cast<int32_t>(rows.row(place)),
                               .block = run.id});
      }
    }
    return last;
  }

  G& g_;
  const BlockPoolRef<A>& pool_;
  const PageTableRef<A>& table_;
  const RowBatch batch_;
  const int32_t* tokens_;
  const Fence fence_;
  uint32_t set_ = PendingBlocksRef<A>::kNoSet;
};

}  // namespace kvpage

#endif  // KVPAGE_CORE_RELEASE_ROWS_H_
