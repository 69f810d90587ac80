// SPDX-License-Identifier: Apache-2.0
//
// kvpage/core/export_reader.h
//
// What the exports have in common: how long a row is, with or without a branch of its draft, and
// which blocks it has.
//
// Thread safety: reads only; see export_batch.h for what may run beside.
// Memory ordering: a row's word is read once, and acquires; entries are read after that, by the
//   same lane or, in LookAll, after a Sync.
// Cost: 2 loads for a row, 2 more with a branch.

#ifndef KVPAGE_CORE_EXPORT_READER_H_
#define KVPAGE_CORE_EXPORT_READER_H_

#include <cstdint>

#include "kvpage/core/export_batch.h"
#include "kvpage/core/group.h"
#include "kvpage/core/page_table_ref.h"

namespace kvpage {

// A place of the batch.
struct ExportedRow {
  OpStatus status = OpStatus::kInvalid;
  int32_t branch = -1;  // of an open draft; -1: none is to be seen
  uint32_t row = 0;
  uint32_t kv_len = 0;
  uint32_t length = 0;  // tokens to export, those of the draft included; 0 unless kOk

  KVPAGE_HOST_DEVICE void Fail(OpStatus why) {
    status = why;
    length = 0;
  }
};

template <Atomics A>
class ExportReader {
 public:
  KVPAGE_HOST_DEVICE ExportReader(const PageTableRef<A>& table, const RowBatch& batch,
                                  const int32_t* branches)
      : table_(table), batch_(batch), branches_(branches) {}

  KVPAGE_HOST_DEVICE const PageTableRef<A>& table() const { return table_; }

  KVPAGE_HOST_DEVICE ExportedRow Look(uint32_t i) const {
    ExportedRow row;
    if (!LookUpPlace(row, i)) return row;
    const SequenceState state = table_.Sequence(row.row);
    if (!state.open) {
      row.Fail(OpStatus::kClosed);
      return row;
    }
    row.status = OpStatus::kOk;
    row.kv_len = static_cast<uint32_t>(state.kv_len);
    row.length = row.kv_len;
    if (row.branch < 0) return row;
    if (!state.drafting) {
      row.Fail(OpStatus::kWrongState);
      return row;
    }
    const DraftShape shape = DraftShape::Parse(table_.storage().draft_shapes[row.row]);
    if (static_cast<uint32_t>(row.branch) >= shape.branches) {
      row.Fail(OpStatus::kInvalid);
      return row;
    }
    row.length += shape.tokens;
    return row;
  }

  // The same for a group, for which one lane looks. Collective.
  template <Group G>
  KVPAGE_HOST_DEVICE ExportedRow LookAll(G& g, uint32_t i) const {
    ExportedRow row;
    LookUpPlace(row, i);
    uint64_t word = 0;
    if (g.rank() == 0) {
      const ExportedRow seen = Look(i);
      word = uint64_t{static_cast<uint8_t>(seen.status)} << kStatusShift |
             uint64_t{seen.status == OpStatus::kOk ? seen.length - seen.kv_len : 0} << kDraftShift |
             seen.kv_len;
    }
    word = g.Shuffle(word, 0);
    g.Sync();  // the entries are read after the word
    row.status = static_cast<OpStatus>(word >> kStatusShift);
    row.kv_len = static_cast<uint32_t>(word & 0x7fffffff);
    row.length = row.status != OpStatus::kOk
                     ? 0
                     : row.kv_len + static_cast<uint32_t>(word >> kDraftShift & 0xffff);
    return row;
  }

  // A row that has been looked at before, for a lane that only wants its blocks.
  KVPAGE_HOST_DEVICE ExportedRow Again(uint32_t i) const {
    ExportedRow row;
    LookUpPlace(row, i);
    if (row.branch >= 0) row.kv_len = static_cast<uint32_t>(table_.Sequence(row.row).kv_len);
    return row;
  }

  // REQUIRES: one of the blocks that the row's length covers.
  KVPAGE_HOST_DEVICE BlockId Block(const ExportedRow& row, uint32_t index) const {
    if (row.branch < 0) return table_.Entry(row.row, index);
    return table_.BlockWithDraft(row.row, static_cast<uint32_t>(row.branch), row.kv_len, index);
  }

 private:
  static constexpr uint32_t kDraftShift = 31;
  static constexpr uint32_t kStatusShift = 56;

  KVPAGE_HOST_DEVICE bool LookUpPlace(ExportedRow& row, uint32_t i) const {
    const int32_t number = batch_.rows[i];
    row.row = static_cast<uint32_t>(number);
    if (branches_ != nullptr) row.branch = branches_[i];
    return number >= 0 && row.row < table_.max_sequences() && row.branch >= -1;
  }

  const PageTableRef<A>& table_;
  const RowBatch& batch_;
  const int32_t* branches_;
};

}  // namespace kvpage

#endif  // KVPAGE_CORE_EXPORT_READER_H_
