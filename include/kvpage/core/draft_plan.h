// SPDX-License-Identifier: Apache-2.0
//
// kvpage/core/draft_plan.h
//
// The plan (grow_row.h) of BeginDraft: private blocks for speculative tokens behind a row's length.
//
// A branch of k tokens covers the positions kv_len .. kv_len + k - 1, and so the blocks from number
// kv_len / block_tokens of the row on. A row with one branch and a tail that is its own writes into
// that tail, and into blocks that it has reserved, and needs private blocks only beyond them.
// Otherwise every block of every branch is private, and a partial tail is copied to the first of
// each.

#ifndef KVPAGE_CORE_DRAFT_PLAN_H_
#define KVPAGE_CORE_DRAFT_PLAN_H_

#include <cstdint>

#include "kvpage/core/block_pool_ref.h"
#include "kvpage/core/draft_batch.h"
#include "kvpage/core/grow_row.h"
#include "kvpage/core/row_batch.h"

namespace kvpage {

template <Atomics A, Group G>
class DraftPlan {
 public:
  KVPAGE_HOST_DEVICE DraftPlan(const BlockPoolRef<A>& pool, const PageTableRef<A>& table,
                               const BeginDraftBatch& batch)
      : pool_(pool), table_(table), batch_(batch) {}

  KVPAGE_HOST_DEVICE const RowBatch& batch() const { return batch_.batch; }
  KVPAGE_HOST_DEVICE Fence fence() const { return {}; }  // it lets go of nothing
  KVPAGE_HOST_DEVICE int64_t* slots() const { return batch_.slots; }
  KVPAGE_HOST_DEVICE int64_t slot_capacity() const { return batch_.slot_capacity; }
  KVPAGE_HOST_DEVICE void ClearCopies(const RowBatchRun<A, G>& rows) const {
    rows.ClearCopies(batch_.copies, table_.storage().max_draft_branches);
  }

  KVPAGE_HOST_DEVICE GrowArguments Read(uint32_t i) const {
    return {batch_.batch.rows[i], batch_.tokens[i],
            batch_.branches == nullptr ? 1 : batch_.branches[i]};
  }

  KVPAGE_HOST_DEVICE GrowRow Look(const RowBatchRun<A, G>& rows,
                                  const GrowArguments& arguments) const {
    GrowRow row;
    row.row = static_cast<uint32_t>(arguments.row);
    row.in_table = rows.InTable(arguments.row);
    if (!TakeShape(row, arguments) || !row.in_table) return row;
    LookUp(row, row.row);
    if (!row.state.open) {
      row.status = OpStatus::kClosed;
    } else if (row.state.drafting) {
      row.status = OpStatus::kWrongState;
    } else if (row.index + NumBlocks(row) > table_.row_blocks()) {
      row.status = OpStatus::kTableFull;
    } else {
      row.status = OpStatus::kOk;
      row.replaces = row.tokens > 0 && row.offset > 0 &&
                     (row.branches > 1 || pool_.words().State(row.next).references > 1);
      row.need = row.branches * (NumBlocks(row) - NumOwn(row));
      if (row.replaces && batch_.copies == nullptr) row.status = OpStatus::kWrongState;
      if (row.need > pool_.num_blocks()) row.status = OpStatus::kNeverFits;
    }
    return row;
  }

  KVPAGE_HOST_DEVICE void Again(const RowBatchRun<A, G>& rows, uint32_t i, GrowRow& row) const {
    TakeShape(row, Read(i));
    if (row.status != OpStatus::kOk) return;
    LookUp(row, rows.row(i));
    if (row.tokens > 0) row.next = BlockOf(row, 0, 0);  // private, once it is placed
  }

  KVPAGE_HOST_DEVICE void Place(GrowRow& row, uint32_t i, uint32_t k, BlockId id) const {
    const uint32_t own = NumOwn(row);
    const uint32_t per_branch = row.branches == 1 ? row.need : row.need / row.branches;
    const uint32_t branch = row.branches == 1 ? 0 : k / per_branch;
    const uint32_t index = own + k - branch * per_branch;
    if (row.replaces && index == 0) {
      // The entry, not row.next, which is a private block by the second branch.
      batch_.copies[uint64_t{i} * table_.storage().max_draft_branches + branch] = {
          table_.Entry(row.row, row.index), id, static_cast<int32_t>(row.offset)};
    }
    if (branch == 0 && index == 0) row.next = id;
    if (branch == 0 && index == 1) row.after = id;
    table_.SetDraftEntry(row.row, branch, index, id);
  }

  KVPAGE_HOST_DEVICE BlockId Replaced(const GrowRow&, uint32_t) const { return kNullBlock; }

  KVPAGE_HOST_DEVICE void Publish(const GrowRow& row, bool is_fenced) const {
    A::StoreRelaxed(&table_.storage().draft_shapes[row.row],
                    DraftShape{row.tokens, row.branches}.Word());
    SequenceState state = row.state;
    state.drafting = true;
    table_.Publish(row.row, state, is_fenced, row.tokens);
  }

  template <class F>
  KVPAGE_HOST_DEVICE void ForEachSlot(const GrowRow& row, F f) const {
    const uint32_t block_tokens = table_.block_tokens();
    for (uint32_t branch = 0; branch < row.branches; ++branch) {
      ForEachRun(row.offset, row.tokens, block_tokens,
                 [&](uint32_t first, uint32_t count, uint32_t n, uint32_t offset) {
                   BlockId block = branch > 0 || n > 1 ? kNullBlock : n == 0 ? row.next : row.after;
                   if (block == kNullBlock) block = BlockOf(row, branch, n);
                   const int64_t slot = int64_t{block} * block_tokens + offset;
                   first += branch * row.tokens;
                   for (uint32_t j = 0; j < count; ++j) f(first + j, slot + j);
                 });
    }
  }
  KVPAGE_HOST_DEVICE int64_t SlotOf(const GrowRow& row, uint32_t j) const {
    const uint32_t branch = j / row.tokens;
    const uint32_t kv_len = static_cast<uint32_t>(row.state.kv_len);
    return table_.DraftSlot(row.row, branch, kv_len, kv_len + j - branch * row.tokens);
  }

 private:
  KVPAGE_HOST_DEVICE bool TakeShape(GrowRow& row, const GrowArguments& arguments) const {
    const PageTableStorage& s = table_.storage();
    const uint32_t tokens = static_cast<uint32_t>(arguments.tokens);
    const uint32_t branches = static_cast<uint32_t>(arguments.branches);
    if (tokens > s.max_draft_tokens || branches - 1 >= s.max_draft_branches) return false;
    row.tokens = tokens;
    row.branches = branches;
    return true;
  }
  KVPAGE_HOST_DEVICE void LookUp(GrowRow& row, uint32_t number) const {
    row.row = number;
    row.state = table_.OwnSequence(number);
    row.held = table_.storage().held_blocks[number];
    row.index = static_cast<uint32_t>(row.state.kv_len) / table_.block_tokens();
    row.offset = static_cast<uint32_t>(row.state.kv_len) - row.index * table_.block_tokens();
    if (row.tokens > 0 && row.index < row.held) row.next = table_.Entry(number, row.index);
  }

  // Of a branch: its blocks, and how many of them are the row's own.
  KVPAGE_HOST_DEVICE uint32_t NumBlocks(const GrowRow& row) const {
    return row.tokens == 0 ? 0 : CeilDiv32(row.offset + row.tokens, table_.block_tokens());
  }
  KVPAGE_HOST_DEVICE uint32_t NumOwn(const GrowRow& row) const {
    if (row.replaces || row.branches > 1) return 0;
    const uint32_t own = row.held > row.index ? row.held - row.index : 0;
    const uint32_t blocks = NumBlocks(row);
    return own < blocks ? own : blocks;
  }
  KVPAGE_HOST_DEVICE BlockId BlockOf(const GrowRow& row, uint32_t branch, uint32_t index) const {
    const BlockId id = table_.DraftEntry(row.row, branch, index);
    return id != kNullBlock ? id : table_.Entry(row.row, row.index + index);
  }

  const BlockPoolRef<A>& pool_;
  const PageTableRef<A>& table_;
  const BeginDraftBatch batch_;
};

}  // namespace kvpage

#endif  // KVPAGE_CORE_DRAFT_PLAN_H_
