// SPDX-License-Identifier: Apache-2.0
//
// kvpage/core/page_table_ref.h
//
// A PageTableRef reads and writes the rows of a page table. It is a view: trivially copyable,
// passed by value into kernels. Rows change through the batch operations (kvpage/core/*_rows.h);
// kernels read them here.
//
// Example, in a kernel:
//   kvpage::PageTableRef<kvpage::CudaAtomics> table(storage);
//   const int64_t slot = table.Slot(row, position);   // block * block_tokens + offset, or -1
//
// Thread safety: a row has one writer at a time. Reads of other rows may run at any time; reads of
//   a row may run beside an Append that copies no tail, not beside one that does (until its copies
//   are carried out), nor beside Fork into it. Beside the others:
// Readers beside operations: ReadRow may run at any time beside BeginDraft, CommitDraft,
// AbortDraft,
//   Reserve, Truncate and Close. The tokens that it finds keep their blocks and their KV for as
//   long as the epoch under which those operations let blocks go has not completed, if nobody
//   writes KV in place: so rows get their tokens from drafts, and Truncate to a multiple of
//   block_tokens. Complete an epoch when every reader that may have begun before the end of its
//   operations has ended; docs/design.md, "Rows", says how to know.
// Memory ordering: Sequence acquires what the operation that published the row's word wrote before
//   it: the first ceil(kv_len / block_tokens) entries are then safe to read.
// Cost: Sequence: 1 load. Slot: 2 loads. ReadRow: 2 loads, 1 fence, and 1 load per block.
// Failure: Slot answers -1 outside the row's tokens. Other arguments are REQUIRED to be in range.

#ifndef KVPAGE_CORE_PAGE_TABLE_REF_H_
#define KVPAGE_CORE_PAGE_TABLE_REF_H_

#include <cstdint>

#include "kvpage/core/atomics.h"
#include "kvpage/core/bits.h"
#include "kvpage/core/page_table_storage.h"

namespace kvpage {

// A row's sequence word, taken apart: the one word whose release store publishes a change.
struct SequenceState {
  int32_t kv_len = 0;       // tokens with a slot
  uint32_t generation = 0;  // 24 bits; + 1 each time that entries are taken out of the row
  bool open = false;
  bool drafting = false;  // a draft is open

  static KVPAGE_HOST_DEVICE SequenceState Parse(uint64_t word) {
    return {static_cast<int32_t>(word & 0x7fffffff),
            static_cast<uint32_t>(word >> 32) & kGenerationMask, (word >> 63) != 0,
            (word & kDraftingBit) != 0};
  }
  KVPAGE_HOST_DEVICE uint64_t Word() const {
    return static_cast<uint64_t>(kv_len) | uint64_t{generation & kGenerationMask} << 32 |
           (drafting ? kDraftingBit : 0) | uint64_t{open} << 63;
  }

  static constexpr uint32_t kGenerationMask = (1u << 24) - 1;
  static constexpr uint64_t kDraftingBit = uint64_t{1} << 62;
};

// What an open draft was asked for: `tokens` on each of `branches`.
struct DraftShape {
  uint32_t tokens = 0;
  uint32_t branches = 0;

  static KVPAGE_HOST_DEVICE DraftShape Parse(uint32_t word) { return {word & 0xffff, word >> 16}; }
  KVPAGE_HOST_DEVICE uint32_t Word() const { return branches << 16 | tokens; }
};

template <Atomics A>
class PageTableRef {
 public:
  static constexpr uint32_t kUnclaimed = ~uint32_t{0};

  KVPAGE_HOST_DEVICE explicit PageTableRef(const PageTableStorage& storage) : s_(storage) {}

  KVPAGE_HOST_DEVICE const PageTableStorage& storage() const { return s_; }
  KVPAGE_HOST_DEVICE uint32_t block_tokens() const { return s_.block_tokens; }
  KVPAGE_HOST_DEVICE uint32_t max_sequences() const { return s_.max_sequences; }
  KVPAGE_HOST_DEVICE uint32_t row_blocks() const { return s_.max_blocks_per_sequence; }
  KVPAGE_HOST_DEVICE uint32_t draft_row_blocks() const {
    return s_.max_draft_branches * s_.draft_branch_blocks;
  }

  // Makes every row closed and empty. Worker `worker` of `num_workers` does its part.
  KVPAGE_HOST_DEVICE void Init(uint64_t worker, uint64_t num_workers) const {
    for (uint64_t row = worker; row < s_.max_sequences; row += num_workers) {
      A::StoreRelaxed(SequenceWord(static_cast<uint32_t>(row)), uint64_t{0});
      s_.held_blocks[row] = 0;
      A::StoreRelaxed(&s_.claims[row], kUnclaimed);
    }
    const uint64_t entries = uint64_t{s_.max_sequences} * s_.max_blocks_per_sequence;
    for (uint64_t i = worker; i < entries; i += num_workers) {
      A::StoreRelaxed(&s_.entries[i], kNullBlock);
    }
    const uint64_t num_private = uint64_t{s_.max_sequences} * draft_row_blocks();
    for (uint64_t i = worker; i < num_private; i += num_workers) {
      A::StoreRelaxed(&s_.draft_entries[i], kNullBlock);
    }
    if (num_private == 0) return;
    // Read also of rows that have had no draft yet.
    for (uint64_t row = worker; row < s_.max_sequences; row += num_workers) {
      s_.draft_shapes[row] = 0;
    }
  }

  KVPAGE_HOST_DEVICE SequenceState Sequence(uint32_t row) const {
    return SequenceState::Parse(A::LoadAcquire(SequenceWord(row)));
  }
  // `is_fenced`: the caller has executed FenceAcqRel since all entries were written. `drafted`:
  // tokens of the draft that opens.
  KVPAGE_HOST_DEVICE void Publish(uint32_t row, const SequenceState& state, bool is_fenced = false,
                                  uint32_t drafted = 0) const {
    if (s_.length_bounds != nullptr) {
      A::StoreRelaxed(&s_.length_bounds[row], static_cast<uint32_t>(state.kv_len) + drafted);
    }
    if (is_fenced) {
      A::StoreRelaxed(SequenceWord(row), state.Word());
    } else {
      A::StoreRelease(SequenceWord(row), state.Word());
    }
  }
  // Ends the row's draft for the caller, if one is open; the word before. Of callers that race
  // exactly one finds it open.
  KVPAGE_HOST_DEVICE SequenceState TakeDraft(uint32_t row) const {
    return SequenceState::Parse(
        A::FetchAndRelaxed(SequenceWord(row), ~SequenceState::kDraftingBit));
  }
  // Undoes it.
  KVPAGE_HOST_DEVICE void GiveBackDraft(uint32_t row) const {
    A::OrRelease(SequenceWord(row), SequenceState::kDraftingBit);
  }
  // The row's word for its only writer, who needs no order to read it.
  KVPAGE_HOST_DEVICE SequenceState OwnSequence(uint32_t row) const {
    return SequenceState::Parse(A::LoadRelaxed(SequenceWord(row)));
  }

  KVPAGE_HOST_DEVICE BlockId Entry(uint32_t row, uint32_t index) const {
    return A::LoadRelaxed(EntryWord(row, index));
  }
  KVPAGE_HOST_DEVICE void SetEntry(uint32_t row, uint32_t index, BlockId id) const {
    A::StoreRelaxed(EntryWord(row, index), id);
  }

  // How many entries of the row are in use. Relaxed, because commits that race look at it.
  KVPAGE_HOST_DEVICE void SetHeldBlocks(uint32_t row, uint32_t num_blocks) const {
    A::StoreRelaxed(&s_.held_blocks[row], num_blocks);
  }

  // Block number `index` of a draft's branch, counted from the one that the draft begins in; the
  // null block where the row's own block serves.
  KVPAGE_HOST_DEVICE BlockId DraftEntry(uint32_t row, uint32_t branch, uint32_t index) const {
    return A::LoadRelaxed(DraftEntryWord(row, branch, index));
  }
  KVPAGE_HOST_DEVICE void SetDraftEntry(uint32_t row, uint32_t branch, uint32_t index,
                                        BlockId id) const {
    A::StoreRelaxed(DraftEntryWord(row, branch, index), id);
  }

  // Calls take(index, id) for every block of the row's tokens, in order, beside whatever happens to
  // the row. True: the ids are those of `state`. False: the row changed meanwhile; the ids are
  // worth nothing, try again. See "Readers beside operations" above.
  template <class F>
  KVPAGE_HOST_DEVICE bool ReadRow(uint32_t row, SequenceState& state, F take) const {
    state = Sequence(row);
    const uint32_t num_blocks = CeilDiv32(static_cast<uint32_t>(state.kv_len), s_.block_tokens);
    bool is_whole = true;
    for (uint32_t index = 0; index < num_blocks; ++index) {
      const BlockId id = Entry(row, index);
      is_whole &= id != kNullBlock;
      take(index, id);
    }
    return StillHolds(row, state) && is_whole;
  }
  // The same by hand, for threads that share the entries among them: whether what this thread has
  // read of them since Sequence answered `state` is the row's. A null block is not.
  KVPAGE_HOST_DEVICE bool StillHolds(uint32_t row, const SequenceState& state) const {
    A::FenceAcqRel();  // the entries are read before the word
    return OwnSequence(row).generation == state.generation;
  }

  // Where the KV of the row's token number `position` lies: block * block_tokens + offset in the
  // block. -1 if the row has no such token.
  KVPAGE_HOST_DEVICE int64_t Slot(uint32_t row, int64_t position) const {
    const SequenceState state = Sequence(row);
    if (position < 0 || position >= state.kv_len) return -1;
    return SlotIn(row, static_cast<uint32_t>(position));
  }
  // The same for a position that is known to have a block.
  KVPAGE_HOST_DEVICE int64_t SlotIn(uint32_t row, uint32_t position) const {
    const uint32_t index = position / s_.block_tokens;
    return static_cast<int64_t>(Entry(row, index)) * s_.block_tokens +
           (position - index * s_.block_tokens);
  }

  // Block number `index` of a row of length `kv_len` with a draft open, as one of its branches sees
  // it. REQUIRES: index < row_blocks(), branch below that of the options.
  KVPAGE_HOST_DEVICE BlockId BlockWithDraft(uint32_t row, uint32_t branch, uint32_t kv_len,
                                            uint32_t index) const {
    const uint32_t first = kv_len / s_.block_tokens;
    if (index >= first && index - first < s_.draft_branch_blocks) {
      const BlockId id = DraftEntry(row, branch, index - first);
      if (id != kNullBlock) return id;
    }
    return Entry(row, index);
  }
  // Where a draft token lies, by its position.
  KVPAGE_HOST_DEVICE int64_t DraftSlot(uint32_t row, uint32_t branch, uint32_t kv_len,
                                       uint32_t position) const {
    const uint32_t index = position / s_.block_tokens;
    return int64_t{BlockWithDraft(row, branch, kv_len, index)} * s_.block_tokens +
           (position - index * s_.block_tokens);
  }

 private:
  KVPAGE_HOST_DEVICE uint64_t* SequenceWord(uint32_t row) const {
    return &s_.sequence_words[s_.sequence_layout.Index(row)];
  }
  KVPAGE_HOST_DEVICE BlockId* EntryWord(uint32_t row, uint32_t index) const {
    return &s_.entries[uint64_t{row} * s_.max_blocks_per_sequence + index];
  }
  KVPAGE_HOST_DEVICE BlockId* DraftEntryWord(uint32_t row, uint32_t branch, uint32_t index) const {
    return &s_.draft_entries[(uint64_t{row} * s_.max_draft_branches + branch) *
                                 s_.draft_branch_blocks +
                             index];
  }

  PageTableStorage s_;
};

}  // namespace kvpage

#endif  // KVPAGE_CORE_PAGE_TABLE_REF_H_
