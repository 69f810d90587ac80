// SPDX-License-Identifier: Apache-2.0
//
// kvpage/core/batch.h
//
// The arguments of the batch operations. All pointers are to memory of the backend
// (device-accessible memory for CUDA, ordinary memory for the CPU), and must stay valid until the
// operation has run.
//
// One status per row or list entry is always written. Anything but kOk means that this row or entry
// changed nothing (but for a corrupted row: see CloseBatch). In FailureMode::kPerRow the others go
// on; in kWholeBatch one failure cancels all.
//
// Rows and tokens are signed, so that a negative number is answered kInvalid instead of wrapping. A
// row may stand in a batch once; if it stands twice, the first mention counts and the others are
// kInvalid.

#ifndef KVPAGE_CORE_BATCH_H_
#define KVPAGE_CORE_BATCH_H_

#include <cstdint>

#include "kvpage/core/op_status.h"
#include "kvpage/core/types.h"

namespace kvpage {

// The epoch under which an operation lets blocks go: those whose last reference it takes are
// pending, and become free once the epoch has completed (KvCache::Signal). Epochs are numbered
// upwards from 1 and stay below 2^64 - 1; one that has completed, or none, makes them free at once.
struct Fence {
  uint64_t epoch = 0;                    // 0: none
  const uint64_t* epoch_word = nullptr;  // if given, the epoch lies there: read when it runs
};

enum class FailureMode : uint8_t {
  kPerRow,      // a row that fails changes nothing, the others go on
  kWholeBatch,  // all or none: rows that were fine themselves are kCancelled; if blocks are short,
                // every row that needs some is kFull
};

struct RowBatch {
  const int32_t* rows = nullptr;   // [num_rows]
  int32_t num_rows = 0;            // at most the table's max_sequences
  OpStatus* statuses = nullptr;    // [num_rows], written
  const int32_t* count = nullptr;  // if given, the first *count rows are meant: read when it runs
  FailureMode failure = FailureMode::kPerRow;
};

// Capacity for `tokens` tokens. The row's length does not change; less than it has is a no-op. A
// closed row is opened.
struct ReserveBatch {
  RowBatch batch;
  const int32_t* tokens = nullptr;  // [num_rows], capacity wanted
};

// Reserve, then `tokens` more in length. A closed row is opened. Where the row's partial tail block
// is shared, it is replaced by a private copy, and the copy to be done is written to `copies`.
struct AppendBatch {
  RowBatch batch;
  const int32_t* tokens = nullptr;  // [num_rows], how many more

  // Optional [slot_capacity], written: the slot of each new token, rows in batch order (a failed
  // row's are -1), then -1 up to the end. A row whose slots do not fit in it is kInvalid.
  int64_t* slots = nullptr;
  int64_t slot_capacity = 0;

  // Optional [num_rows], written: what to copy for each row before its new tokens are written;
  // nothing for the rows beyond the count. If it is not given, a row that needs a copy is
  // kWrongState.
  BlockCopy* copies = nullptr;

  Fence fence = {};  // for tails that are replaced
};

// Length down to `tokens`, if it is above; blocks wholly beyond `tokens` are released, reserved
// ones as well. kClosed for a closed row.
struct TruncateBatch {
  RowBatch batch;
  const int32_t* tokens = nullptr;  // [num_rows]
  Fence fence = {};
};

// Releases all blocks of the rows, those of an open draft as well, and closes them. kClosed for a
// closed row. kDoubleFree (here and for Truncate): somebody had released a block of the row, which
// is shortened or closed all the same.
struct CloseBatch {
  RowBatch batch;
  Fence fence = {};
};

// Opens each row as a child that begins with the first `tokens` tokens of its parent: full blocks
// are shared, a partial tail is copied. kWrongState: the child is open, or a copy is needed and
// `copies` not given; kClosed: the parent is closed; kInvalid: it has fewer tokens, or a block of
// it might get more than kMaxReferences, every row of the batch counted.
struct ForkBatch {
  RowBatch batch;                    // rows: the children
  const int32_t* parents = nullptr;  // [num_rows], a parent may stand in it many times
  const int32_t* tokens = nullptr;   // [num_rows]
  BlockCopy* copies = nullptr;       // optional [num_rows], written
};

// One reference more, or one less, for each block of a list. An id may be repeated; null blocks are
// passed over. With generations, each is checked: kStale. Ascending ids are checked in linear time,
// others by comparing each with those before it.
struct BlockListBatch {
  const BlockId* ids = nullptr;  // [num_ids]
  int32_t num_ids = 0;
  OpStatus* statuses = nullptr;           // [num_ids], written
  const uint32_t* generations = nullptr;  // optional [num_ids]
  const int32_t* count = nullptr;         // if given, the first *count ids are meant
  FailureMode failure = FailureMode::kWholeBatch;
  Fence fence = {};    // Release only
  uint64_t owner = 0;  // who the caller says it is, in reports on misuse (KvCache::PeekMisuses)
};

}  // namespace kvpage

#endif  // KVPAGE_CORE_BATCH_H_
