// SPDX-License-Identifier: Apache-2.0
//
// kvpage/core/append_plan.h
//
// What Append and Reserve have to know of a row, how they find it out, and the publication of a row
// whose entries are in place. kvpage/core/append_rows.h has the operations.

#ifndef KVPAGE_CORE_APPEND_PLAN_H_
#define KVPAGE_CORE_APPEND_PLAN_H_

#include <cstdint>

#include "kvpage/core/block_pool_ref.h"
#include "kvpage/core/row_batch.h"

namespace kvpage {

struct AppendRow {
  OpStatus status = OpStatus::kInvalid;
  bool in_table = false;  // `row` is one of the table's
  uint32_t row = 0;
  uint32_t tokens = 0;
  SequenceState state;
  uint32_t held = 0;
  uint32_t need = 0;          // blocks, one of them perhaps
  bool replaces = false;      //   to replace the shared tail
  BlockId next = kNullBlock;  // the block that the next token goes to, if the row has it
  uint32_t first_block = 0;   // number of its first new block in the batch
  uint64_t first_slot = 0;    // number of its first slot in the batch
};

template <Atomics A, Group G>
class AppendPlan {
 public:
  // `appends`: the batch is to Append, not to Reserve.
  KVPAGE_HOST_DEVICE AppendPlan(const BlockPoolRef<A>& pool, const PageTableRef<A>& table,
                                const AppendBatch& batch, bool appends)
      : pool_(pool), table_(table), batch_(batch), appends_(appends) {}

  KVPAGE_HOST_DEVICE bool appends() const { return appends_; }

  // Looks up place i, and what it needs if it is the first mention of its row.
  KVPAGE_HOST_DEVICE AppendRow Look(const RowBatchRun<A, G>& rows, uint32_t i) const {
    AppendRow row;
    const int32_t number = batch_.batch.rows[i];
    const int32_t tokens = batch_.tokens[i];
    row.row = static_cast<uint32_t>(number);
    row.in_table = rows.InTable(number);
    if (tokens < 0) return row;
    row.tokens = static_cast<uint32_t>(tokens);
    if (!row.in_table) return row;
    LookUp(row, row.row, 0);
    const uint32_t block_tokens = table_.block_tokens();
    const uint32_t kv_len = static_cast<uint32_t>(row.state.kv_len);
    const uint32_t blocks = CeilDiv32((appends_ ? kv_len : 0) + row.tokens, block_tokens);
    row.status = OpStatus::kOk;
    if (blocks > table_.row_blocks()) {
      row.status = OpStatus::kTableFull;
    } else if (blocks > pool_.num_blocks()) {
      row.status = OpStatus::kNeverFits;
    } else {
      row.need = blocks > row.held ? blocks - row.held : 0;
      if (row.next != kNullBlock && kv_len % block_tokens != 0 &&
          pool_.words().State(row.next).references > 1) {
        ++row.need;
        row.replaces = true;
        if (batch_.copies == nullptr) row.status = OpStatus::kWrongState;
      }
    }
    return row;
  }
  // `added`: entries that may have been placed behind those it holds.
  KVPAGE_HOST_DEVICE void LookUp(AppendRow& row, uint32_t number, uint32_t added) const {
    row.row = number;
    row.state = table_.OwnSequence(number);
    row.held = table_.storage().held_blocks[number];
    const uint32_t index = static_cast<uint32_t>(row.state.kv_len) / table_.block_tokens();
    if (appends_ && row.tokens > 0 && index < row.held + added) {
      row.next = table_.Entry(number, index);
    }
  }
  // Publishes the row's new length. `is_fenced`: this lane has executed FenceAcqRel since all its
  // entries were written.
  KVPAGE_HOST_DEVICE void Publish(const AppendRow& row, bool is_fenced) const {
    const uint32_t added = row.replaces ? row.need - 1 : row.need;
    if (added > 0) table_.storage().held_blocks[row.row] = row.held + added;
    SequenceState state = row.state;
    if (appends_) state.kv_len += static_cast<int32_t>(row.tokens);
    state.open = true;
    if (is_fenced) {
      table_.PublishBehindFence(row.row, state);
    } else {
      table_.Publish(row.row, state);
    }
  }

 private:
  const BlockPoolRef<A>& pool_;
  const PageTableRef<A>& table_;
  const AppendBatch batch_;  // no reference into an object that this is a part of
  const bool appends_;
};

}  // namespace kvpage

#endif  // KVPAGE_CORE_APPEND_PLAN_H_
