// SPDX-License-Identifier: Apache-2.0
//
// kvpage/core/append_plan.h
//
// The plan (grow_row.h) of Append and Reserve: blocks behind those that the row has, and, for
// Append, the longer length, and a block that replaces a shared partial tail.

#ifndef KVPAGE_CORE_APPEND_PLAN_H_
#define KVPAGE_CORE_APPEND_PLAN_H_

#include <cstdint>

#include "kvpage/core/block_pool_ref.h"
#include "kvpage/core/grow_row.h"
#include "kvpage/core/row_batch.h"

namespace kvpage {

template <Atomics A, Group G>
class AppendPlan {
 public:
  KVPAGE_HOST_DEVICE AppendPlan(const BlockPoolRef<A>& pool, const PageTableRef<A>& table,
                                const AppendBatch& batch)
      : pool_(pool), table_(table), batch_(batch), appends_(true) {}

  KVPAGE_HOST_DEVICE AppendPlan(const BlockPoolRef<A>& pool, const PageTableRef<A>& table,
                                const ReserveBatch& batch)
      : pool_(pool),
        table_(table),
        batch_{.batch = batch.batch, .tokens = batch.tokens},
        appends_(false) {}

  KVPAGE_HOST_DEVICE const RowBatch& batch() const { return batch_.batch; }
  KVPAGE_HOST_DEVICE const Fence& fence() const { return batch_.fence; }
  KVPAGE_HOST_DEVICE int64_t* slots() const { return batch_.slots; }
  KVPAGE_HOST_DEVICE int64_t slot_capacity() const { return batch_.slot_capacity; }
  KVPAGE_HOST_DEVICE void ClearCopies(const RowBatchRun<A, G>& rows) const {
    rows.ClearCopies(batch_.copies, 1);
  }

  KVPAGE_HOST_DEVICE GrowArguments Read(uint32_t i) const {
    return {batch_.batch.rows[i], batch_.tokens[i], 1};
  }

  // What the row needs if this is its first mention.
  KVPAGE_HOST_DEVICE GrowRow Look(const RowBatchRun<A, G>& rows,
                                  const GrowArguments& arguments) const {
    GrowRow row;
    row.row = static_cast<uint32_t>(arguments.row);
    row.in_table = rows.InTable(arguments.row);
    if (arguments.tokens < 0) return row;
    row.tokens = static_cast<uint32_t>(arguments.tokens);
    if (!row.in_table) return row;
    LookUp(row, row.row, 0);
    const uint32_t kv_len = static_cast<uint32_t>(row.state.kv_len);
    const uint32_t blocks = CeilDiv32((appends_ ? kv_len : 0) + row.tokens, table_.block_tokens());
    row.status = OpStatus::kOk;
    if (row.state.drafting) {
      row.status = OpStatus::kWrongState;
    } else if (blocks > table_.row_blocks()) {
      row.status = OpStatus::kTableFull;
    } else if (blocks > pool_.num_blocks()) {
      row.status = OpStatus::kNeverFits;
    } else {
      row.need = blocks > row.held ? blocks - row.held : 0;
      if (row.next != kNullBlock && row.offset != 0 &&
          pool_.words().State(row.next).references > 1) {
        ++row.need;
        row.replaces = true;
        if (batch_.copies == nullptr) row.status = OpStatus::kWrongState;
      }
    }
    return row;
  }

  KVPAGE_HOST_DEVICE void Again(const RowBatchRun<A, G>& rows, uint32_t i, GrowRow& row) const {
    row.tokens = batch_.tokens[i] < 0 ? 0 : static_cast<uint32_t>(batch_.tokens[i]);
    if (row.status == OpStatus::kOk) LookUp(row, rows.row(i), row.need);
  }

  KVPAGE_HOST_DEVICE void Place(GrowRow& row, uint32_t i, uint32_t k, BlockId id) const {
    uint32_t index = row.held + k;
    if (row.replaces) {
      --index;
      if (k == 0) {
        index = row.index;
        batch_.copies[i] = {row.next, id, static_cast<int32_t>(row.offset)};
        row.next = id;
      }
    }
    if (row.next == kNullBlock) row.next = id;
    table_.SetEntry(row.row, index, id);
  }

  KVPAGE_HOST_DEVICE BlockId Replaced(const GrowRow& row, uint32_t i) const {
    return row.replaces ? batch_.copies[i].src : kNullBlock;
  }

  KVPAGE_HOST_DEVICE void Publish(const GrowRow& row, bool is_fenced) const {
    const uint32_t added = row.replaces ? row.need - 1 : row.need;
    if (added > 0) table_.SetHeldBlocks(row.row, row.held + added);
    SequenceState state = row.state;
    if (appends_) state.kv_len += static_cast<int32_t>(row.tokens);
    state.generation += row.replaces;
    state.open = true;
    table_.Publish(row.row, state, is_fenced);
  }

  template <class F>
  KVPAGE_HOST_DEVICE void ForEachSlot(const GrowRow& row, F f) const {
    ForEachRun(row.offset, row.tokens, table_.block_tokens(),
               [&](uint32_t first, uint32_t count, uint32_t n, uint32_t offset) {
                 const BlockId block = n == 0 ? row.next : table_.Entry(row.row, row.index + n);
                 const int64_t slot = int64_t{block} * table_.block_tokens() + offset;
                 for (uint32_t j = 0; j < count; ++j) f(first + j, slot + j);
               });
  }
  KVPAGE_HOST_DEVICE int64_t SlotOf(const GrowRow& row, uint32_t j) const {
    return table_.SlotIn(
        row.row, static_cast<uint32_t>(table_.OwnSequence(row.row).kv_len) - row.tokens + j);
  }

 private:
  // `added`: entries that may have been placed behind those it holds.
  KVPAGE_HOST_DEVICE void LookUp(GrowRow& row, uint32_t number, uint32_t added) const {
    row.row = number;
    row.state = table_.OwnSequence(number);
    row.held = table_.storage().held_blocks[number];
    row.index = static_cast<uint32_t>(row.state.kv_len) / table_.block_tokens();
    row.offset = static_cast<uint32_t>(row.state.kv_len) - row.index * table_.block_tokens();
    if (appends_ && row.tokens > 0 && row.index < row.held + added) {
      row.next = table_.Entry(number, row.index);
    }
  }

  const BlockPoolRef<A>& pool_;
  const PageTableRef<A>& table_;
  const AppendBatch batch_;  // no reference into an object that this is a part of
  const bool appends_;
};

}  // namespace kvpage

#endif  // KVPAGE_CORE_APPEND_PLAN_H_
