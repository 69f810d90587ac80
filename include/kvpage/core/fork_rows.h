// SPDX-License-Identifier: Apache-2.0
//
// kvpage/core/fork_rows.h
//
// The batch operation Fork: a closed row becomes a child that shares its parent's full blocks and
// gets a block of its own for a partial tail.
//
// Run by one group; collective. See batch.h for what it answers.

#ifndef KVPAGE_CORE_FORK_ROWS_H_
#define KVPAGE_CORE_FORK_ROWS_H_

#include <cstdint>

#include "kvpage/core/block_pool_ref.h"
#include "kvpage/core/row_batch.h"
#include "kvpage/core/row_grants.h"

namespace kvpage {

template <Atomics A, Group G>
class ForkRows {
 public:
  KVPAGE_HOST_DEVICE ForkRows(G& g, const BlockPoolRef<A>& pool, const PageTableRef<A>& table,
                              const ForkBatch& batch)
      : g_(g), pool_(pool), table_(table), batch_(batch) {}

  KVPAGE_HOST_DEVICE void Run() {
    RowBatchRun<A, G> rows(g_, table_, batch_.batch);
    rows.ClearCopies(batch_.copies);
    for (uint32_t i = g_.rank(); i < rows.size(); i += g_.size()) {
      plan()[i] = 0;
      rows.set_status(i, PlanRow(rows, i));
    }
    g_.Sync();
    rows.Unclaim();
    const uint64_t num_full = NumberFullBlocks(rows);
    CheckFullBlocks(rows, num_full);
    g_.Sync();
    rows.CancelUnlessAllOk();
    RowGrants<A, G> grants(g_, pool_, rows, plan(), table_.storage().offsets);
    grants.Grant([&](uint32_t i, uint32_t, BlockId id) { PlaceTail(rows.row(i), i, id); });
    g_.Sync();
    ShareFullBlocks(rows, num_full);
    g_.Sync();
    for (uint32_t i = g_.rank(); i < rows.size(); i += g_.size()) {
      if (rows.ok(i)) Publish(rows.row(i), batch_.tokens[i]);
    }
  }

 private:
  KVPAGE_HOST_DEVICE uint32_t* plan() const { return table_.storage().plan; }

  // plan[i]: 1 if the child needs a tail block.
  KVPAGE_HOST_DEVICE OpStatus PlanRow(const RowBatchRun<A, G>& rows, uint32_t i) const {
    const int32_t parent = batch_.parents[i];
    const int32_t tokens = batch_.tokens[i];
    if (!rows.IsValid(i) || !rows.InTable(parent) || tokens < 0) return OpStatus::kInvalid;
    if (table_.Sequence(rows.row(i)).open) return OpStatus::kWrongState;
    const SequenceState state = table_.Sequence(static_cast<uint32_t>(parent));
    if (!state.open) return OpStatus::kClosed;
    if (tokens > state.kv_len) return OpStatus::kInvalid;
    if (static_cast<uint32_t>(tokens) % table_.block_tokens() != 0) {
      if (batch_.copies == nullptr) return OpStatus::kWrongState;
      plan()[i] = 1;
    }
    return OpStatus::kOk;
  }

  KVPAGE_HOST_DEVICE void PlaceTail(uint32_t child, uint32_t i, BlockId id) const {
    const uint32_t tokens = static_cast<uint32_t>(batch_.tokens[i]);
    const uint32_t index = tokens / table_.block_tokens();
    table_.SetEntry(child, index, id);
    batch_.copies[i] = {table_.Entry(static_cast<uint32_t>(batch_.parents[i]), index), id,
                        static_cast<int32_t>(tokens % table_.block_tokens())};
  }

  // Numbers the full blocks of all children, so that the lanes can share them out; returns how
  // many.
  KVPAGE_HOST_DEVICE uint64_t NumberFullBlocks(const RowBatchRun<A, G>& rows) const {
    uint64_t num_full = 0;
    for (uint32_t base = 0; base < rows.size(); base += g_.size()) {
      const uint32_t i = base + g_.rank();
      uint64_t full = 0;
      if (i < rows.size() && rows.ok(i)) {
        full = static_cast<uint32_t>(batch_.tokens[i]) / table_.block_tokens();
      }
      uint64_t total;
      const uint64_t before = num_full + g_.ExclusiveScan(full, total);
      if (i < rows.size()) table_.storage().slot_offsets[i] = before;
      num_full += total;
    }
    g_.Sync();
    return num_full;
  }

  // Calls f(i, index, id) for each: entry `index` of the parent of place i.
  template <class F>
  KVPAGE_HOST_DEVICE void ForEachFullBlock(const RowBatchRun<A, G>& rows, uint64_t num_full,
                                           F f) const {
    PlaceFinder<uint64_t> finder(table_.storage().slot_offsets, rows.size());
    for (uint64_t item = g_.rank(); item < num_full; item += g_.size()) {
      const uint32_t i = finder.Find(item);
      const uint32_t index = finder.Within(item);
      f(i, index, table_.Entry(static_cast<uint32_t>(batch_.parents[i]), index));
    }
  }

  KVPAGE_HOST_DEVICE void CheckFullBlocks(const RowBatchRun<A, G>& rows, uint64_t num_full) const {
    // Every row of the batch may be about to share the same block.
    const int32_t most = kMaxReferences - static_cast<int32_t>(rows.size());
    ForEachFullBlock(rows, num_full, [&](uint32_t i, uint32_t, BlockId id) {
      if (pool_.words().State(id).references > most) rows.set_status(i, OpStatus::kInvalid);
    });
  }

  KVPAGE_HOST_DEVICE void ShareFullBlocks(const RowBatchRun<A, G>& rows, uint64_t num_full) const {
    ForEachFullBlock(rows, num_full, [&](uint32_t i, uint32_t index, BlockId id) {
      if (!rows.ok(i)) return;
      // The parent holds the block, so it cannot go away; too many references was ruled out.
      pool_.words().Share(id, 1, BlockPoolRef<A>::kAnyGeneration);
      table_.SetEntry(rows.row(i), index, id);
    });
  }

  KVPAGE_HOST_DEVICE void Publish(uint32_t child, int32_t tokens) const {
    table_.storage().held_blocks[child] =
        static_cast<uint32_t>(CeilDiv(static_cast<uint64_t>(tokens), table_.block_tokens()));
    table_.Publish(child, {tokens, table_.Sequence(child).generation, true});
  }

  G& g_;
  const BlockPoolRef<A>& pool_;
  const PageTableRef<A>& table_;
  const ForkBatch batch_;
};

}  // namespace kvpage

#endif  // KVPAGE_CORE_FORK_ROWS_H_
