// SPDX-License-Identifier: Apache-2.0
//
// kvpage/core/fork_rows.h
//
// The batch operation Fork: a closed row becomes a child that shares its parent's full blocks and
// gets a block of its own for a partial tail. Children of one parent that follow one another in the
// batch share its blocks together, one change of a block's word for many rows.
//
// Run by one group; collective. See batch.h for what it answers.

#ifndef KVPAGE_CORE_FORK_ROWS_H_
#define KVPAGE_CORE_FORK_ROWS_H_

#include <cstdint>

#include "kvpage/core/block_pool_ref.h"
#include "kvpage/core/row_batch.h"
#include "kvpage/core/row_grants.h"
#include "kvpage/core/row_tiles.h"

namespace kvpage {

template <Atomics A, Group G>
class ForkRows {
 public:
  KVPAGE_HOST_DEVICE ForkRows(G& g, const BlockPoolRef<A>& pool, const PageTableRef<A>& table,
                              const ForkBatch& batch)
      : g_(g), pool_(pool), table_(table), batch_(batch) {}

  KVPAGE_HOST_DEVICE void Run() {
    Rows rows(g_, table_, batch_.batch);
    rows.ClearCopies(batch_.copies, 1);
    g_.Sync();  // before IsFirst
    for (uint32_t i = g_.rank(); i < rows.size(); i += g_.size()) {
      const bool is_valid = rows.IsRow(i) && rows.IsFirst(i);
      needs()[i] = 0;
      rows.set_status(i, is_valid ? PlanRow(rows, i) : OpStatus::kInvalid);
    }
    g_.Sync();  // before another lane's status is read, or set
    CheckFullBlocks(rows);
    g_.Sync();
    rows.CancelUnlessAllOk();
    const uint64_t tails = NumberTails(rows);
    if (tails > 0) pool_.Drain(g_);
    g_.Sync();
    RowGrants<A, G> grants(g_, pool_, rows, table_.storage(), tails);
    grants.Reserve();
    const auto place = [&](uint32_t i, uint32_t, BlockId id) { PlaceTail(rows.row(i), i, id); };
    if (grants.Claim(place)) grants.PlaceListed(place);
    grants.Settle();
    g_.Sync();
    ShareFullBlocks(rows);
    g_.Sync();
    for (uint32_t i = g_.rank(); i < rows.size(); i += g_.size()) {
      if (rows.ok(i)) Publish(rows.row(i), batch_.tokens[i]);
    }
  }

 private:
  using Rows = RowBatchRun<A, G>;

  KVPAGE_HOST_DEVICE uint32_t* needs() const { return table_.storage().needs; }

  // needs[i]: 1 if the child needs a tail block.
  KVPAGE_HOST_DEVICE OpStatus PlanRow(const Rows& rows, uint32_t i) const {
    const int32_t parent = batch_.parents[i];
    const int32_t tokens = batch_.tokens[i];
    if (!rows.InTable(parent) || tokens < 0) return OpStatus::kInvalid;
    if (table_.OwnSequence(rows.row(i)).open) return OpStatus::kWrongState;
    const SequenceState state = table_.OwnSequence(static_cast<uint32_t>(parent));
    if (!state.open) return OpStatus::kClosed;
    if (tokens > state.kv_len) return OpStatus::kInvalid;
    if (static_cast<uint32_t>(tokens) % table_.block_tokens() != 0) {
      if (batch_.copies == nullptr) return OpStatus::kWrongState;
      needs()[i] = 1;
    }
    return OpStatus::kOk;
  }

  KVPAGE_HOST_DEVICE uint64_t NumberTails(const Rows& rows) const {
    uint64_t tails = 0;
    for (uint32_t base = 0; base < rows.size(); base += g_.size()) {
      const uint32_t i = base + g_.rank();
      const uint64_t need = i < rows.size() && rows.ok(i) ? needs()[i] : 0;
      uint64_t total;
      const uint64_t before = tails + g_.ExclusiveScan(need, total);
      if (i < rows.size()) table_.storage().block_offsets[i] = static_cast<uint32_t>(before);
      tails += total;
    }
    return tails;
  }

  KVPAGE_HOST_DEVICE void PlaceTail(uint32_t child, uint32_t i, BlockId id) const {
    const uint32_t tokens = static_cast<uint32_t>(batch_.tokens[i]);
    const uint32_t index = tokens / table_.block_tokens();
    table_.SetEntry(child, index, id);
    batch_.copies[i] = {table_.Entry(static_cast<uint32_t>(batch_.parents[i]), index), id,
                        static_cast<int32_t>(tokens % table_.block_tokens())};
  }

  // Calls tile as ForEachTile does, over the parents' full blocks; a parent's entry is the child's.
  template <class Tile>
  KVPAGE_HOST_DEVICE void ForEachTileOfParents(const Rows& rows, Tile tile) const {
    const auto span = [&](uint32_t place) {
      if (!rows.ok(place)) return EntrySpan{};
      return EntrySpan{static_cast<uint32_t>(batch_.parents[place]), 0,
                       static_cast<uint32_t>(batch_.tokens[place]) / table_.block_tokens()};
    };
    ForEachTile(g_, rows.size(), span, tile);
  }

  KVPAGE_HOST_DEVICE void CheckFullBlocks(const Rows& rows) const {
    // Every row of the batch may be about to share the same block.
    const int32_t most = kMaxReferences - static_cast<int32_t>(rows.size());
    ForEachTileOfParents(rows, [&](auto& w, uint32_t first_place, const EntrySpan& mine,
                                   uint32_t index) {
      BlockId checked = kNullBlock;
      bool too_many = false;
      ForEachRowOfTile(
          w, mine, index, [&](uint32_t row, uint32_t entry) { return table_.Entry(row, entry); },
          [&](uint32_t j, uint32_t, uint32_t, BlockId id) {
            if (id != checked && id != kNullBlock) {
              too_many = pool_.words().State(id).references > most;
              checked = id;
            }
            if (id != kNullBlock && too_many) {
              rows.set_status(first_place + j, OpStatus::kInvalid);
            }
          });
    });
  }

  KVPAGE_HOST_DEVICE void ShareFullBlocks(const Rows& rows) const {
    ForEachTileOfParents(rows, [&](auto& w, uint32_t first_place, const EntrySpan& mine,
                                   uint32_t index) {
      BlockId shared = kNullBlock;
      uint32_t times = 0;
      const auto share = [&] {
        // The parent holds the block, so it cannot go away; too many references was ruled out.
        if (times > 0) pool_.words().Share(shared, times, BlockPoolRef<A>::kAnyGeneration);
      };
      ForEachRowOfTile(
          w, mine, index, [&](uint32_t row, uint32_t entry) { return table_.Entry(row, entry); },
          [&](uint32_t j, uint32_t, uint32_t entry, BlockId id) {
            if (id == kNullBlock) return;
            if (id != shared) {
              share();
              shared = id;
              times = 0;
            }
            ++times;
            table_.SetEntry(rows.row(first_place + j), entry, id);
          });
      share();
    });
  }

  KVPAGE_HOST_DEVICE void Publish(uint32_t child, int32_t tokens) const {
    table_.SetHeldBlocks(child, CeilDiv32(static_cast<uint32_t>(tokens), table_.block_tokens()));
    table_.Publish(child, {tokens, table_.OwnSequence(child).generation, true});
  }

  G& g_;
  const BlockPoolRef<A>& pool_;
  const PageTableRef<A>& table_;
  const ForkBatch batch_;
};

}  // namespace kvpage

#endif  // KVPAGE_CORE_FORK_ROWS_H_
