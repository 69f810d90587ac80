// SPDX-License-Identifier: Apache-2.0
//
// kvpage/core/append_rows.h
//
// The batch operations Reserve and Append: blocks for more tokens of a row, and, for Append, the
// longer length, the slot of each new token, and the copy of a shared partial tail.
//
// Run by one group (a thread block on the GPU, a thread on the CPU); collective. A row's entries
// are all written before the one release store of its sequence word. See batch.h for what it
// answers.

#ifndef KVPAGE_CORE_APPEND_ROWS_H_
#define KVPAGE_CORE_APPEND_ROWS_H_

#include <cstdint>

#include "kvpage/core/block_pool_ref.h"
#include "kvpage/core/row_batch.h"
#include "kvpage/core/row_grants.h"

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
    RowBatchRun<A, G> rows(g_, table_, batch_.batch);
    rows.ClearCopies(batch_.copies);
    const uint64_t num_slots = Plan(rows);
    g_.Sync();
    rows.Unclaim();
    rows.CancelUnlessAllOk();
    RowGrants<A, G> grants(g_, pool_, rows, plan(), table_.storage().offsets);
    grants.Grant([&](uint32_t i, uint32_t k, BlockId id) { Place(rows.row(i), i, k, id); });
    Publish(rows);
    if (batch_.slots != nullptr) {
      g_.Sync();
      WriteSlots(rows, num_slots);
    }
  }

 private:
  // In plan[i], beside the number of blocks: the first of them replaces the shared tail.
  static constexpr uint32_t kReplacesTail = 0x80000000;

  KVPAGE_HOST_DEVICE AppendRows(G& g, const BlockPoolRef<A>& pool, const PageTableRef<A>& table,
                                const AppendBatch& batch, bool appends)
      : g_(g), pool_(pool), table_(table), batch_(batch), appends_(appends) {}

  KVPAGE_HOST_DEVICE uint32_t* plan() const { return table_.storage().plan; }

  // Fills in statuses, plan and slot offsets; returns how many slots the batch asks for.
  KVPAGE_HOST_DEVICE uint64_t Plan(const RowBatchRun<A, G>& rows) const {
    uint64_t num_slots = 0;
    for (uint32_t base = 0; base < rows.size(); base += g_.size()) {
      const uint32_t i = base + g_.rank();
      OpStatus status = OpStatus::kInvalid;
      uint64_t slots = 0;
      if (i < rows.size()) {
        plan()[i] = 0;
        if (batch_.tokens[i] >= 0) {
          // Also for a row that is none: the slots of the others stay in their places.
          slots = static_cast<uint64_t>(batch_.tokens[i]);
          if (rows.IsValid(i)) status = PlanRow(i, rows.row(i));
        }
      }
      if (batch_.slots != nullptr) {
        uint64_t total;
        const uint64_t before = num_slots + g_.ExclusiveScan(slots, total);
        num_slots += total;
        if (i < rows.size()) table_.storage().slot_offsets[i] = before;
        if (slots > 0 && before + slots > static_cast<uint64_t>(batch_.slot_capacity)) {
          status = OpStatus::kInvalid;
        }
      }
      if (i < rows.size()) rows.set_status(i, status);
    }
    return num_slots;
  }

  KVPAGE_HOST_DEVICE OpStatus PlanRow(uint32_t i, uint32_t row) const {
    const uint32_t block_tokens = table_.block_tokens();
    const uint32_t kv_len = static_cast<uint32_t>(table_.Sequence(row).kv_len);
    const uint32_t held = table_.storage().held_blocks[row];
    const uint64_t tokens = static_cast<uint64_t>(batch_.tokens[i]);
    const uint64_t blocks = CeilDiv((appends_ ? kv_len : 0) + tokens, block_tokens);
    if (blocks > table_.row_blocks()) return OpStatus::kTableFull;
    if (blocks > pool_.num_blocks()) return OpStatus::kNeverFits;
    uint32_t need = blocks > held ? static_cast<uint32_t>(blocks) - held : 0;
    if (appends_ && tokens > 0 && kv_len % block_tokens != 0) {
      const BlockId tail = table_.Entry(row, kv_len / block_tokens);
      if (pool_.words().State(tail).references > 1) {
        if (batch_.copies == nullptr) return OpStatus::kWrongState;
        need = (need + 1) | kReplacesTail;
      }
    }
    plan()[i] = need;
    return OpStatus::kOk;
  }

  KVPAGE_HOST_DEVICE void Place(uint32_t row, uint32_t i, uint32_t k, BlockId id) const {
    uint32_t index = table_.storage().held_blocks[row] + k;
    if ((plan()[i] & kReplacesTail) != 0) {
      --index;
      if (k == 0) {
        const uint32_t kv_len = static_cast<uint32_t>(table_.Sequence(row).kv_len);
        index = kv_len / table_.block_tokens();
        batch_.copies[i] = {table_.Entry(row, index), id,
                            static_cast<int32_t>(kv_len % table_.block_tokens())};
      }
    }
    table_.SetEntry(row, index, id);
  }

  KVPAGE_HOST_DEVICE void Publish(const RowBatchRun<A, G>& rows) const {
    auto w = g_.subgroup();
    FreedBlocks<A, decltype(w)> freed(pool_.gate(), pool_.bits(), w);
    for (uint32_t base = 0; base < rows.size(); base += g_.size()) {
      const uint32_t i = base + g_.rank();
      BlockId replaced = kNullBlock;
      bool last = false;
      if (i < rows.size() && rows.ok(i)) {
        const uint32_t row = rows.row(i);
        uint32_t added = plan()[i] & RowGrants<A, G>::kNeedMask;
        if ((plan()[i] & kReplacesTail) != 0) {
          --added;
          replaced = batch_.copies[i].src;
          last = pool_.words().Drop(replaced, 1, BlockPoolRef<A>::kAnyGeneration).last;
        }
        table_.storage().held_blocks[row] += added;
        SequenceState state = table_.Sequence(row);
        if (appends_) state.kv_len += batch_.tokens[i];
        state.open = true;
        table_.Publish(row, state);
      }
      freed.Add(last, replaced);
    }
    freed.Flush();
  }

  KVPAGE_HOST_DEVICE void WriteSlots(const RowBatchRun<A, G>& rows, uint64_t num_slots) const {
    PlaceFinder<uint64_t> finder(table_.storage().slot_offsets, rows.size());
    const uint64_t capacity = static_cast<uint64_t>(batch_.slot_capacity);
    for (uint64_t at = g_.rank(); at < capacity; at += g_.size()) {
      int64_t slot = -1;
      if (at < num_slots) {
        const uint32_t i = finder.Find(at);
        if (rows.ok(i)) {
          const uint32_t row = rows.row(i);
          const int32_t old_len = table_.Sequence(row).kv_len - batch_.tokens[i];
          slot = table_.SlotIn(row, static_cast<uint32_t>(old_len) + finder.Within(at));
        }
      }
      batch_.slots[at] = slot;
    }
  }

  G& g_;
  const BlockPoolRef<A>& pool_;
  const PageTableRef<A>& table_;
  const AppendBatch batch_;
  const bool appends_;
};

}  // namespace kvpage

#endif  // KVPAGE_CORE_APPEND_ROWS_H_
