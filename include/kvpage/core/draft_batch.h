// SPDX-License-Identifier: Apache-2.0
//
// kvpage/core/draft_batch.h
//
// The arguments of the operations on drafts: speculative tokens that lie in private blocks of a row
// until they have been verified. What batch.h says of batches holds here too.
//
// A draft is invisible: the row's length, and the blocks behind it, stay as they are until it is
// committed. While one is open, Append, Reserve and Truncate of the row are kWrongState; Fork takes
// what is committed; Close frees the draft.
//
// The usual step:   BeginDraft, CopyBlocks, draft and verify kernels (they write KV to the slots),
//                   CommitDraft with the counts that the verify kernel left in device memory.
// With token trees: the same, with CompactDraft and MoveTokens before the CommitDraft.

#ifndef KVPAGE_CORE_DRAFT_BATCH_H_
#define KVPAGE_CORE_DRAFT_BATCH_H_

#include <cstdint>

#include "kvpage/core/batch.h"

namespace kvpage {

// Opens a draft of `tokens` tokens on each of `branches` chains; a token tree of n nodes is a chain
// of n tokens here, node j being token j. kClosed: the row is closed; kWrongState: it has a draft,
// or a copy is needed and `copies` not given; kTableFull: longer than the row; kInvalid: more
// tokens or branches than the options allow.
struct BeginDraftBatch {
  RowBatch batch;
  const int32_t* tokens = nullptr;    // [num_rows], 0 .. max_draft_tokens
  const int32_t* branches = nullptr;  // optional [num_rows], 1 .. max_draft_branches; else 1 each

  // Optional [slot_capacity], written: the slot of each draft token, rows in batch order, branch by
  // branch (a failed row's are -1; it has none if its tokens or branches are more than the options
  // allow), then -1 up to the end. A row whose slots do not fit is kInvalid.
  int64_t* slots = nullptr;
  int64_t slot_capacity = 0;

  // Optional [num_rows][max_draft_branches], written: what to copy before draft tokens are written.
  // A partial tail is copied to each branch if there are several, or if it is shared.
  BlockCopy* copies = nullptr;
};

// Makes the first `tokens` tokens of one branch part of the row, in one store that readers see, and
// frees the rest of the draft. 0 tokens: nothing is kept. Of commits that race on a row, in one
// batch (where the first mention that is not kInvalid is first) or from several streams, exactly
// one finds the draft open; the others are kWrongState and change nothing. A whole-batch commit
// must not race. kInvalid: no such branch, or more tokens than it has; the draft stays open.
struct CommitDraftBatch {
  RowBatch batch;
  const int32_t* tokens = nullptr;    // [num_rows], accepted
  const int32_t* branches = nullptr;  // optional [num_rows]; else branch 0
  Fence fence = {};                   // for a tail that is replaced, and for what is not kept
};

// Frees the rows' drafts. kWrongState: none is open.
struct AbortDraftBatch {
  RowBatch batch;
  Fence fence = {};
};

// One entry of a move list: the KV of one token, from slot to slot. One of -1 asks for nothing.
struct TokenMove {
  int64_t src = -1;
  int64_t dst = -1;

  friend bool operator==(const TokenMove&, const TokenMove&) = default;
};

// For token trees: which tokens are to be moved so that the first `tokens` nodes of the path to
// node `leaves[i]` become the first tokens of the draft. Changes nothing itself. The moves of a row
// are carried out in order (KvCache::MoveTokens). kInvalid: no such node, a parent that is not
// before its node, or a path with fewer nodes; kWrongState: no draft, or one of several branches.
struct CompactDraftBatch {
  RowBatch batch;
  const int32_t* tokens = nullptr;   // [num_rows], accepted nodes of the path
  const int32_t* leaves = nullptr;   // [num_rows], last node of the path; -1: the row is no tree
  const int32_t* parents = nullptr;  // [num_rows][max_draft_tokens], -1 for a child of the row
  TokenMove* moves = nullptr;        // [num_rows][max_draft_tokens], written

  // Optional [num_rows], written: what to pass to CommitDraft as `tokens`: -1 for a row that
  // failed.
  int32_t* commit_tokens = nullptr;
};

}  // namespace kvpage

#endif  // KVPAGE_CORE_DRAFT_BATCH_H_
