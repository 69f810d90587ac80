// SPDX-License-Identifier: Apache-2.0
//
// kvpage/core/compact_draft.h
//
// The batch operation CompactDraft: which tokens of a token tree are to be moved so that the
// accepted path lies where a chain would, in front of the draft. Node j of a tree has position
// kv_len + j; the parents of a node come before it, so the nodes of a path are in ascending order
// and node number d of the path, counted from 0, is not before d: its token moves down or stays.
// Carried out in order, a move never overwrites a token that is still to be moved.
//
// It is an operation of its own because the moves must be carried out before the commit: until then
// nobody reads the places that they write to.
//
// Run by one group; each lane sees to its rows. Changes no row.
// Cost: two loads per node of the path.

#ifndef KVPAGE_CORE_COMPACT_DRAFT_H_
#define KVPAGE_CORE_COMPACT_DRAFT_H_

#include <cstdint>

#include "kvpage/core/block_pool_ref.h"
#include "kvpage/core/draft_batch.h"
#include "kvpage/core/row_batch.h"

namespace kvpage {

template <Atomics A, Group G>
class CompactDraft {
 public:
  static constexpr bool kIsShort = true;  // has no way that is worth a function of its own

  KVPAGE_HOST_DEVICE CompactDraft(G& g, const BlockPoolRef<A>&, const PageTableRef<A>& table,
                                  const CompactDraftBatch& batch)
      : g_(g), table_(table), batch_(batch) {}

  KVPAGE_HOST_DEVICE void Run() {
    const RowBatchRun<A, G> rows(g_, table_, batch_.batch);
    const uint32_t size = rows.size();
    const uint64_t stride = table_.storage().max_draft_tokens;
    // Also beyond the count: a captured graph carries the whole list out.
    const uint64_t all = static_cast<uint64_t>(batch_.batch.num_rows) * stride;
    for (uint64_t at = g_.rank(); at < all; at += g_.size()) batch_.moves[at] = TokenMove{};
    g_.Sync();  // before IsFirst
    bool failed = false;
    for (uint32_t i = g_.rank(); i < size; i += g_.size()) {
      // A row's moves twice in the list would be carried out twice.
      const bool is_valid = rows.IsRow(i) && rows.IsFirst(i);
      const OpStatus status =
          is_valid ? RunRow(i, rows.row(i), batch_.moves + i * stride) : OpStatus::kInvalid;
      batch_.batch.statuses[i] = status;
      failed |= status != OpStatus::kOk;
    }
    const bool is_cancelled = batch_.batch.failure == FailureMode::kWholeBatch && g_.Any(failed);
    for (uint32_t i = g_.rank(); i < size; i += g_.size()) {
      OpStatus& status = batch_.batch.statuses[i];
      if (is_cancelled && status == OpStatus::kOk) {
        status = OpStatus::kCancelled;
        for (uint64_t j = 0; j < stride; ++j) batch_.moves[i * stride + j] = TokenMove{};
      }
      if (batch_.commit_tokens != nullptr) {
        batch_.commit_tokens[i] = status == OpStatus::kOk ? batch_.tokens[i] : -1;
      }
    }
  }

 private:
  KVPAGE_HOST_DEVICE OpStatus RunRow(uint32_t i, uint32_t row, TokenMove* moves) const {
    const PageTableStorage& s = table_.storage();
    const SequenceState state = table_.OwnSequence(row);
    if (!state.open) return OpStatus::kClosed;
    if (!state.drafting) return OpStatus::kWrongState;
    const DraftShape shape = DraftShape::Parse(s.draft_shapes[row]);
    const int32_t tokens = batch_.tokens[i];
    const int32_t leaf = batch_.leaves[i];
    if (tokens < 0 || static_cast<uint32_t>(tokens) > shape.tokens) return OpStatus::kInvalid;
    if (leaf < 0) return leaf == -1 ? OpStatus::kOk : OpStatus::kInvalid;
    if (shape.branches > 1) return OpStatus::kWrongState;
    if (static_cast<uint32_t>(leaf) >= shape.tokens || batch_.parents == nullptr) {
      return OpStatus::kInvalid;
    }
    const int32_t* const parents = batch_.parents + uint64_t{i} * s.max_draft_tokens;
    int32_t depth = 0;
    for (int32_t node = leaf; node >= 0; ++depth) {
      const int32_t parent = parents[node];
      if (parent < -1 || parent >= node) return OpStatus::kInvalid;
      node = parent;
    }
    if (tokens > depth) return OpStatus::kInvalid;
    for (int32_t node = leaf; node >= 0; node = parents[node]) {
      --depth;
      if (depth < tokens && depth != node) {
        moves[depth] = {SlotOf(row, state, node), SlotOf(row, state, depth)};
      }
    }
    return OpStatus::kOk;
  }

  KVPAGE_HOST_DEVICE int64_t SlotOf(uint32_t row, const SequenceState& state, int32_t node) const {
    return table_.DraftSlot(row, 0, static_cast<uint32_t>(state.kv_len),
                            static_cast<uint32_t>(state.kv_len + node));
  }

  G& g_;
  const PageTableRef<A>& table_;
  const CompactDraftBatch batch_;
};

}  // namespace kvpage

#endif  // KVPAGE_CORE_COMPACT_DRAFT_H_
