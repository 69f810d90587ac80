// SPDX-License-Identifier: Apache-2.0
//
// kvpage/core/row_slots.h
//
// The slot mapping that Append writes: for each new token, rows in batch order, where its KV is to
// be stored; -1 for the tokens of a row that failed, and from the last token to the end.
//
// Run by one group, after the rows are published, or by the lane of each row before.

#ifndef KVPAGE_CORE_ROW_SLOTS_H_
#define KVPAGE_CORE_ROW_SLOTS_H_

#include <cstdint>

#include "kvpage/core/page_table_ref.h"
#include "kvpage/core/place_finder.h"
#include "kvpage/core/row_batch.h"

namespace kvpage {

template <Atomics A, Group G>
class RowSlots {
 public:
  // Nothing is written if `slots` is null.
  KVPAGE_HOST_DEVICE RowSlots(G& g, const PageTableRef<A>& table, int64_t* slots, int64_t capacity)
      : g_(g), table_(table), slots_(slots), capacity_(static_cast<uint64_t>(capacity)) {}

  KVPAGE_HOST_DEVICE bool wanted() const { return slots_ != nullptr; }
  KVPAGE_HOST_DEVICE bool HasRoom(uint64_t first, uint32_t tokens) const {
    return tokens == 0 || first + tokens <= capacity_;
  }

  // Those of one row, by one lane. `block`: the one that token number `kv_len` goes to.
  KVPAGE_HOST_DEVICE void WriteRow(bool ok, uint32_t row, int32_t kv_len, BlockId block,
                                   uint32_t tokens, uint64_t first) const {
    if (!wanted()) return;
    const uint32_t block_tokens = table_.block_tokens();
    uint32_t index = static_cast<uint32_t>(kv_len) / block_tokens;
    uint32_t offset = static_cast<uint32_t>(kv_len) % block_tokens;
    for (uint32_t j = 0; j < tokens && first + j < capacity_; ++j, ++offset) {
      if (offset == block_tokens) {
        offset = 0;
        ++index;
        if (ok) block = table_.Entry(row, index);
      }
      slots_[first + j] = ok ? int64_t{block} * block_tokens + offset : int64_t{-1};
    }
  }

  // The first `num_slots`, shared out over all lanes; tokens[i] are those of place i, and
  // storage.slot_offsets[i] the number of its first. Another lane's rows have been published, and a
  // Sync after.
  KVPAGE_HOST_DEVICE void WriteAll(const RowBatchRun<A, G>& rows, const int32_t* tokens,
                                   uint64_t num_slots) const {
    if (!wanted()) return;
    PlaceFinder<uint64_t> finder(table_.storage().slot_offsets, rows.size());
    for (uint64_t at = g_.rank(); at < num_slots && at < capacity_; at += g_.size()) {
      const uint32_t i = finder.Find(at);
      int64_t slot = -1;
      if (rows.ok(i)) {
        const uint32_t row = rows.row(i);
        const int32_t old_len = table_.OwnSequence(row).kv_len - tokens[i];
        slot = table_.SlotIn(row, static_cast<uint32_t>(old_len) + finder.Within(at));
      }
      slots_[at] = slot;
    }
  }

  // None from number `begin` on.
  KVPAGE_HOST_DEVICE void Fill(uint64_t begin) const {
    if (!wanted()) return;
    for (uint64_t at = begin + g_.rank(); at < capacity_; at += g_.size()) slots_[at] = -1;
  }

 private:
  G& g_;
  const PageTableRef<A>& table_;
  int64_t* slots_;
  uint64_t capacity_;
};

}  // namespace kvpage

#endif  // KVPAGE_CORE_ROW_SLOTS_H_
