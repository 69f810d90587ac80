// SPDX-License-Identifier: Apache-2.0
//
// kvpage/core/release_rows.h
//
// The batch operations Truncate and Close: a shorter row, or none, and its blocks released.
//
// Run by one group; collective. The row's word is published before its entries are cleared, so that
// nobody who reads the new word meets a cleared entry. See batch.h for what the operations answer.

#ifndef KVPAGE_CORE_RELEASE_ROWS_H_
#define KVPAGE_CORE_RELEASE_ROWS_H_

#include <cstdint>

#include "kvpage/core/block_pool_ref.h"
#include "kvpage/core/row_batch.h"

namespace kvpage {

template <Atomics A, Group G>
class ReleaseRows {
 public:
  KVPAGE_HOST_DEVICE ReleaseRows(G& g, const BlockPoolRef<A>& pool, const PageTableRef<A>& table,
                                 const TruncateBatch& batch)
      : g_(g), pool_(pool), table_(table), batch_(batch.batch), tokens_(batch.tokens) {}

  KVPAGE_HOST_DEVICE ReleaseRows(G& g, const BlockPoolRef<A>& pool, const PageTableRef<A>& table,
                                 const CloseBatch& batch)
      : g_(g), pool_(pool), table_(table), batch_(batch.batch), tokens_(nullptr) {}

  KVPAGE_HOST_DEVICE void Run() {
    RowBatchRun<A, G> rows(g_, table_, batch_);
    for (uint32_t i = g_.rank(); i < rows.size(); i += g_.size()) {
      plan()[i] = 0;
      rows.set_status(i, rows.IsValid(i) ? PlanRow(i, rows.row(i)) : OpStatus::kInvalid);
    }
    g_.Sync();
    rows.Unclaim();
    rows.CancelUnlessAllOk();
    const uint64_t num_items = Publish(rows);
    g_.Sync();
    ReleaseEntries(rows, num_items);
  }

 private:
  KVPAGE_HOST_DEVICE bool closes() const { return tokens_ == nullptr; }
  KVPAGE_HOST_DEVICE uint32_t* plan() const { return table_.storage().plan; }

  // plan[i]: how many blocks to release.
  KVPAGE_HOST_DEVICE OpStatus PlanRow(uint32_t i, uint32_t row) const {
    if (!closes() && tokens_[i] < 0) return OpStatus::kInvalid;
    if (!table_.Sequence(row).open) return OpStatus::kClosed;
    const uint32_t held = table_.storage().held_blocks[row];
    const uint64_t keep =
        closes() ? 0 : CeilDiv(static_cast<uint64_t>(tokens_[i]), table_.block_tokens());
    plan()[i] = held > keep ? held - static_cast<uint32_t>(keep) : 0;
    return OpStatus::kOk;
  }

  // Publishes the rows' new words and numbers the entries to release; returns how many there are.
  KVPAGE_HOST_DEVICE uint64_t Publish(const RowBatchRun<A, G>& rows) const {
    uint64_t passed = 0;
    for (uint32_t base = 0; base < rows.size(); base += g_.size()) {
      const uint32_t i = base + g_.rank();
      uint32_t released = 0;
      if (i < rows.size() && rows.ok(i)) {
        const uint32_t row = rows.row(i);
        released = plan()[i];
        table_.storage().held_blocks[row] -= released;
        SequenceState state = table_.Sequence(row);
        if (closes()) {
          state = {0, state.generation + 1, false};
        } else if (tokens_[i] < state.kv_len) {
          state.kv_len = tokens_[i];
        }
        table_.Publish(row, state);
      }
      uint64_t total;
      const uint64_t before = passed + g_.ExclusiveScan(released, total);
      if (i < rows.size()) table_.storage().slot_offsets[i] = before;
      passed += total;
    }
    return passed;
  }

  KVPAGE_HOST_DEVICE void ReleaseEntries(const RowBatchRun<A, G>& rows, uint64_t num_items) const {
    PlaceFinder<uint64_t> finder(table_.storage().slot_offsets, rows.size());
    auto w = g_.subgroup();
    FreedBlocks<A, decltype(w)> freed(pool_.gate(), pool_.bits(), w);
    for (uint64_t base = 0; base < num_items; base += g_.size()) {
      const uint64_t item = base + g_.rank();
      BlockId id = kNullBlock;
      bool last = false;
      if (item < num_items) {
        const uint32_t i = finder.Find(item);
        const uint32_t row = rows.row(i);
        const uint32_t index = table_.storage().held_blocks[row] + finder.Within(item);
        id = table_.Entry(row, index);
        table_.SetEntry(row, index, kNullBlock);
        if (id != kNullBlock) {
          const Dropped dropped = pool_.words().Drop(id, 1, BlockPoolRef<A>::kAnyGeneration);
          last = dropped.last;
          // Somebody released a block that was the row's: say so here, and carry on.
          if (dropped.status != OpStatus::kOk) rows.set_status(i, dropped.status);
        }
      }
      freed.Add(last, id);
    }
    freed.Flush();
  }

  G& g_;
  const BlockPoolRef<A>& pool_;
  const PageTableRef<A>& table_;
  const RowBatch batch_;
  const int32_t* tokens_;
};

}  // namespace kvpage

#endif  // KVPAGE_CORE_RELEASE_ROWS_H_
