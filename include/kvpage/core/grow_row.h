// SPDX-License-Identifier: Apache-2.0
//
// kvpage/core/grow_row.h
//
// What the operations that give blocks to rows (Reserve, Append, BeginDraft) have to know of a row
// of their batch, from the first look to its publication.
//
// The operations differ in their plan: what a row needs, where its blocks go, and what is published
// (append_plan.h, draft_plan.h). How blocks are granted, and when, is the same for all of them
// (grow_rows.h; in the short way grow_step.h). A Plan has, for a row at place i of the batch:
//   batch(), slots(), slot_capacity()   the arguments that all of them have
//   ClearCopies(rows)                   asks for no copy
//   Read(i)                             its arguments, before anything else is looked up
//   Look(rows, arguments)               looks the row up: its status and what it needs
//   Again(rows, i, row)                 the rest of a row that was planned, by any lane
//   Place(row, i, k, id)                puts its block number k
//   Replaced(row, i)                    a block that the row lets go of, or the null block
//   Publish(row, is_fenced)             publishes it; is_fenced: this lane has executed
//                                       FenceAcqRel since all its entries were written
//   ForEachSlot(row, f)                 f(j, slot) for each of its slots, by the row's lane
//   SlotOf(row, j)                      one of them, by any lane, once it is published

#ifndef KVPAGE_CORE_GROW_ROW_H_
#define KVPAGE_CORE_GROW_ROW_H_

#include <cstdint>

#include "kvpage/core/op_status.h"
#include "kvpage/core/page_table_ref.h"
#include "kvpage/core/types.h"

namespace kvpage {

struct GrowArguments {
  int32_t row = -1;
  int32_t tokens = 0;
  int32_t branches = 1;
};

struct GrowRow {
  OpStatus status = OpStatus::kInvalid;
  bool in_table = false;  // `row` is one of the table's
  uint32_t row = 0;
  uint32_t tokens = 0;    // new ones, on each branch
  uint32_t branches = 1;  // of a draft
  SequenceState state;
  uint32_t index = 0;   // of the block that the length ends in, or that would be the next
  uint32_t offset = 0;  // of the length in it
  uint32_t held = 0;
  uint32_t need = 0;           // blocks, one of them for each branch perhaps
  bool replaces = false;       //   to replace the shared tail
  BlockId next = kNullBlock;   // the block that the first new token goes to, if known
  BlockId after = kNullBlock;  // the one behind it, of the first branch, if known
  uint32_t first_block = 0;    // number of its first new block in the batch
  uint64_t first_slot = 0;     // number of its first slot in the batch

  KVPAGE_HOST_DEVICE uint32_t num_slots() const { return tokens * branches; }
};

// Tokens that lie one behind the other from `offset` in a block on: calls f(first, count, n, at)
// for each block they touch: tokens first .. first + count - 1, the first at slot `at` of block
// number n.
template <class F>
KVPAGE_HOST_DEVICE void ForEachRun(uint32_t offset, uint32_t tokens, uint32_t block_tokens, F f) {
  uint32_t n = 0;
  for (uint32_t first = 0; first < tokens; ++n) {
    const uint32_t room = block_tokens - offset;
    const uint32_t count = tokens - first < room ? tokens - first : room;
    f(first, count, n, offset);
    first += count;
    offset = 0;
  }
}

}  // namespace kvpage

#endif  // KVPAGE_CORE_GROW_ROW_H_
