// SPDX-License-Identifier: Apache-2.0
//
// kvpage/core/page_table_storage.h
//
// The plain arrays of a page table: what they are, how large, and where they lie. Trivially
// copyable; made on the host for either backend. Several tables may draw from one pool.

#ifndef KVPAGE_CORE_PAGE_TABLE_STORAGE_H_
#define KVPAGE_CORE_PAGE_TABLE_STORAGE_H_

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kvpage/core/carver.h"
#include "kvpage/core/layout.h"
#include "kvpage/core/types.h"

namespace kvpage {

struct PageTableOptions {
  uint32_t max_sequences = 0;            // rows
  uint32_t max_blocks_per_sequence = 0;  // entries of a row
  uint32_t block_tokens = 16;            // token slots of a block
  Placement sequence_words = Placement::kContiguous;

  uint32_t max_draft_tokens = 0;    // of one branch of a draft, or of a tree; 0: no drafts
  uint32_t max_draft_branches = 1;  // of a row, at most kMaxDraftBranches
};

inline constexpr uint32_t kMaxDraftBranches = 8;

struct PageTableStorage {
  BlockId* entries = nullptr;          // [max_sequences][max_blocks_per_sequence], null-filled
  uint64_t* sequence_words = nullptr;  // [sequence_layout.size()]
  WordLayout sequence_layout;
  uint32_t* held_blocks = nullptr;  // [max_sequences], entries in use, capacity included

  // Drafts: the private blocks of each row, branch by branch, null where the row's own serve or
  // none is open; and what was asked for (DraftShape), if one is open.
  BlockId* draft_entries = nullptr;  // [max_sequences][max_draft_branches][draft_branch_blocks]
  uint32_t* draft_shapes = nullptr;  // [max_sequences]

  // Host memory, or null: no row is longer than this, its draft included.
  uint32_t* length_bounds = nullptr;  // [max_sequences]

  // Scratch of the batch operation under way, indexed by row (claims) or by place in the batch.
  uint32_t* claims = nullptr;         // [max_sequences]
  uint32_t* needs = nullptr;          // [max_sequences], blocks to take or to give back
  uint32_t* block_offsets = nullptr;  // [max_sequences], blocks of the places before
  uint64_t* slot_offsets = nullptr;   // [max_sequences], slots of the places before
  BlockId* ids = nullptr;             // [num_ids()], blocks on their way to rows

  uint32_t max_sequences = 0;
  uint32_t max_blocks_per_sequence = 0;
  uint32_t block_tokens = 0;
  uint32_t max_draft_tokens = 0;
  uint32_t max_draft_branches = 0;
  uint32_t draft_branch_blocks = 0;

  // Enough for a step of every row, and for a long prompt in a small table.
  KVPAGE_HOST_DEVICE uint32_t num_ids() const {
    return max_sequences > 4096 ? max_sequences : 4096;
  }

  // Whether a table can be made from the options: nothing is 0, and the longest row fits
  // kMaxSequenceTokens.
  static constexpr bool IsValid(const PageTableOptions& o) {
    return o.max_sequences > 0 && o.max_sequences <= (1u << 24) && o.max_blocks_per_sequence > 0 &&
           o.block_tokens > 0 && o.max_draft_tokens < (1u << 16) && o.max_draft_branches > 0 &&
           o.max_draft_branches <= kMaxDraftBranches &&
           uint64_t{o.max_blocks_per_sequence} * o.block_tokens <= kMaxSequenceTokens;
  }

  // Lays a table out. REQUIRES: IsValid(options).
  static PageTableStorage Carve(Carver& carver, const PageTableOptions& o) {
    PageTableStorage s;
    s.max_sequences = o.max_sequences;
    s.max_blocks_per_sequence = o.max_blocks_per_sequence;
    s.block_tokens = o.block_tokens;
    s.max_draft_tokens = o.max_draft_tokens;
    s.max_draft_branches = o.max_draft_tokens > 0 ? o.max_draft_branches : 0;
    // The draft may begin behind block_tokens - 1 tokens of a partial block.
    s.draft_branch_blocks = o.max_draft_tokens > 0
                                ? CeilDiv32(o.max_draft_tokens + o.block_tokens - 1, o.block_tokens)
                                : 0;
    s.sequence_layout = WordLayout::Make(o.max_sequences, sizeof(uint64_t), o.sequence_words);
    s.sequence_words = carver.Take<uint64_t>(s.sequence_layout.size());
    s.entries = carver.Take<BlockId>(uint64_t{o.max_sequences} * o.max_blocks_per_sequence);
    s.held_blocks = carver.Take<uint32_t>(o.max_sequences);
    const uint64_t rows = s.max_draft_branches > 0 ? o.max_sequences : 0;
    s.draft_entries = carver.Take<BlockId>(rows * s.max_draft_branches * s.draft_branch_blocks);
    s.draft_shapes = carver.Take<uint32_t>(rows);
    s.claims = carver.Take<uint32_t>(o.max_sequences);
    s.needs = carver.Take<uint32_t>(o.max_sequences);
    s.block_offsets = carver.Take<uint32_t>(o.max_sequences);
    s.slot_offsets = carver.Take<uint64_t>(o.max_sequences);
    s.ids = carver.Take<BlockId>(s.num_ids());
    return s;
  }

  static size_t RequiredBytes(const PageTableOptions& options) {
    Carver counting(nullptr);
    Carve(counting, options);
    return counting.bytes();
  }
};

static_assert(std::is_trivially_copyable_v<PageTableStorage>);

}  // namespace kvpage

#endif  // KVPAGE_CORE_PAGE_TABLE_STORAGE_H_
