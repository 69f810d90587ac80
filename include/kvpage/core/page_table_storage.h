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
};

struct PageTableStorage {
  BlockId* entries = nullptr;          // [max_sequences][max_blocks_per_sequence], null-filled
  uint64_t* sequence_words = nullptr;  // [sequence_layout.size()]
  WordLayout sequence_layout;
  uint32_t* held_blocks = nullptr;  // [max_sequences], entries in use, capacity included

  // Scratch of the batch operation under way, indexed by row (claims) or by place in the batch.
  uint32_t* claims = nullptr;         // [max_sequences]
  uint32_t* needs = nullptr;          // [max_sequences], blocks to take or to give back
  uint32_t* block_offsets = nullptr;  // [max_sequences], blocks of the places before
  uint64_t* slot_offsets = nullptr;   // [max_sequences], slots of the places before
  BlockId* ids = nullptr;             // [num_ids()], blocks on their way to rows

  uint32_t max_sequences = 0;
  uint32_t max_blocks_per_sequence = 0;
  uint32_t block_tokens = 0;

  // Enough for a step of every row, and for a long prompt in a small table.
  KVPAGE_HOST_DEVICE uint32_t num_ids() const {
    return max_sequences > 4096 ? max_sequences : 4096;
  }

  // Whether a table can be made from the options: nothing is 0, and the longest row fits
  // kMaxSequenceTokens.
  static constexpr bool IsValid(const PageTableOptions& o) {
    return o.max_sequences > 0 && o.max_sequences <= (1u << 24) && o.max_blocks_per_sequence > 0 &&
           o.block_tokens > 0 &&
           uint64_t{o.max_blocks_per_sequence} * o.block_tokens <= kMaxSequenceTokens;
  }

  // Lays a table out. REQUIRES: IsValid(options).
  static PageTableStorage Carve(Carver& carver, const PageTableOptions& o) {
    PageTableStorage s;
    s.max_sequences = o.max_sequences;
    s.max_blocks_per_sequence = o.max_blocks_per_sequence;
    s.block_tokens = o.block_tokens;
    s.sequence_layout = WordLayout::Make(o.max_sequences, sizeof(uint64_t), o.sequence_words);
    s.sequence_words = carver.Take<uint64_t>(s.sequence_layout.size());
    s.entries = carver.Take<BlockId>(uint64_t{o.max_sequences} * o.max_blocks_per_sequence);
    s.held_blocks = carver.Take<uint32_t>(o.max_sequences);
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
