// SPDX-License-Identifier: Apache-2.0
//
// kvpage/core/export_batch.h
//
// The arguments of the exports: rows of the page table written out as attention kernels read them,
// to arrays of the caller at addresses that stay. What batch.h says of batches holds here too, but
// for this: exports change nothing, a row may stand in a batch many times, and the failure mode
// must be kPerRow.
//
// A row that is closed, or no row, is exported as an empty one, with its status. So are the padded
// rows, from the count to padded_rows, which have no status.
//
// A row is exported up to its length, as its sequence word said when it was read, once. An export
// of committed tokens may therefore run beside commits of the rows. With `branches` it may not run
// beside operations on rows that have a branch; it then exports, for branches[i] >= 0, the
// committed tokens and those of the branch behind them, as a verifying kernel reads them.
// kWrongState: the row has no draft; kInvalid: it has no such branch.

#ifndef KVPAGE_CORE_EXPORT_BATCH_H_
#define KVPAGE_CORE_EXPORT_BATCH_H_

#include <cstdint>

#include "kvpage/core/batch.h"
#include "kvpage/core/macros.h"

namespace kvpage {

// What a block is called in an export. To the reader, block `id` is `kernel_blocks` blocks of
// block_tokens / kernel_blocks tokens each, and number j of them is called
//   ((id + id_offset) * kernel_blocks + j) * scale + offset.
// kernel_blocks = block_tokens: the names are token slots. The null block is called `sentinel`.
struct BlockNaming {
  int32_t kernel_blocks = 1;  // divides block_tokens
  int32_t id_offset = 0;      // -1: ids are counted from 0; at least -1
  int32_t scale = 1;          // at least 1; say, layers * 2 where K and V have places of their own
  int32_t offset = 0;         // say, 1 for the table of V
  int32_t sentinel = 0;       // where there is no block

  KVPAGE_HOST_DEVICE int32_t Name(BlockId id, uint32_t j) const {
    if (id == kNullBlock) return sentinel;
    const int32_t first = (static_cast<int32_t>(id) + id_offset) * kernel_blocks;
    return (first + static_cast<int32_t>(j)) * scale + offset;
  }
};

// Whose part of the tokens is meant, where ranks share them out: `interleave` tokens to each of
// `world` ranks in turn. A rank's KV tensor has block_tokens / world tokens in a block.
struct TokenShare {
  int32_t world = 1;  // world * interleave divides block_tokens
  int32_t rank = 0;
  int32_t interleave = 1;
};

// The dense form: a line for each row, and in it the names of its blocks, then sentinels. A row
// with more of them than the width is kTableFull.
struct ExportTableBatch {
  RowBatch batch;
  int32_t padded_rows = 0;            // lines of the table; 0: num_rows
  const int32_t* branches = nullptr;  // optional [num_rows]; -1: without a draft
  BlockNaming naming = {};

  int32_t* table = nullptr;    // [padded_rows][line_stride], the first `width` columns are written
  int32_t width = 0;           // at least 1
  int64_t line_stride = 0;     // 0: width
  int32_t* lengths = nullptr;  // optional [padded_rows], written: tokens, 0 for an empty row
};

// The slots of a range of positions of each row: rows in batch order, then -1 up to the capacity.
// kInvalid: a position that the row does not have, or slots that do not fit the capacity; the row's
// slots are -1, as those of any row that failed.
struct ExportSlotsBatch {
  RowBatch batch;
  int32_t padded_rows = 0;            // of slot_indptr; 0: num_rows
  const int32_t* branches = nullptr;  // optional [num_rows]; -1: without a draft
  const int32_t* tokens = nullptr;    // [num_rows], how many positions
  const int32_t* first = nullptr;     // optional [num_rows], the first; else the last `tokens` ones
  int32_t id_offset = 0;              // as in BlockNaming
  TokenShare share = {};              // -1 for the tokens of other ranks

  int64_t* slots = nullptr;        // [slot_capacity], written: (id + id_offset) * tokens + offset
  int64_t slot_capacity = 0;       // below 2^31
  int32_t* slot_indptr = nullptr;  // [padded_rows + 1], written: where the slots of each row begin
};

// Compressed rows: the names of all rows' blocks one after the other, then sentinels up to the
// capacity. Where they do not fit, the first row that does not, and every row with blocks after it,
// is kTableFull and empty.
struct ExportCsrBatch {
  RowBatch batch;
  int32_t padded_rows = 0;            // 0: num_rows
  const int32_t* branches = nullptr;  // optional [num_rows]; -1: without a draft
  BlockNaming naming = {};

  int32_t* indptr = nullptr;   // [padded_rows + 1], written: where the blocks of each row begin
  int32_t* indices = nullptr;  // [index_capacity], written
  int32_t index_capacity = 0;
  // [padded_rows], written: tokens in the row's last block; for an empty row those of a full one,
  // so that (blocks - 1) * tokens of a block + last_page_len is the length of every row.
  int32_t* last_page_len = nullptr;
  int32_t* lengths = nullptr;  // optional [padded_rows], written: tokens, 0 for an empty row
};

}  // namespace kvpage

#endif  // KVPAGE_CORE_EXPORT_BATCH_H_
