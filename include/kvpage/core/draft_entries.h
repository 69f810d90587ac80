// SPDX-License-Identifier: Apache-2.0
//
// kvpage/core/draft_entries.h
//
// Letting go of what a row's draft holds, when it ends: the private blocks that are not kept.

#ifndef KVPAGE_CORE_DRAFT_ENTRIES_H_
#define KVPAGE_CORE_DRAFT_ENTRIES_H_

#include <cstdint>

#include "kvpage/core/block_pool_ref.h"
#include "kvpage/core/page_table_ref.h"

namespace kvpage {

// Drops every block in the draft entries of each lane's row, if it has one, and clears them. False
// if one had been released by somebody else. The caller has executed F0. Collective.
template <Atomics A, Group W>
KVPAGE_HOST_DEVICE bool DropDraftEntries(W& w, const BlockPoolRef<A>& pool,
                                         const PageTableRef<A>& table, bool has_row, uint32_t row,
                                         MisusedBy by, FreedBlocks<A, W>& freed) {
  bool all_ok = true;
  const DraftShape shape =
      has_row ? DraftShape::Parse(table.storage().draft_shapes[row]) : DraftShape{};
  const uint32_t branch_blocks = table.storage().draft_branch_blocks;
  for (uint32_t branch = 0; w.Any(branch < shape.branches); ++branch) {
    for (uint32_t index = 0; index < branch_blocks; ++index) {
      BlockId id = kNullBlock;
      if (branch < shape.branches) id = table.DraftEntry(row, branch, index);
      Dropped dropped{OpStatus::kOk, false};
      if (id != kNullBlock) {
        table.SetDraftEntry(row, branch, index, kNullBlock);
        dropped = pool.words().DropBetweenFences(id, 1, BlockPoolRef<A>::kAnyGeneration);
        if (dropped.status != OpStatus::kOk) {
          all_ok = false;
          pool.mirror().Report(
              {.by = by, .status = dropped.status, .row = static_cast<int32_t>(row), .block = id});
        }
      }
      freed.Add(dropped.last, id);
    }
  }
  return all_ok;
}

}  // namespace kvpage

#endif  // KVPAGE_CORE_DRAFT_ENTRIES_H_
