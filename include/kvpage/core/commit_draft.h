// SPDX-License-Identifier: Apache-2.0
//
// kvpage/core/commit_draft.h
//
// The batch operations CommitDraft and AbortDraft: accepted tokens of one branch become part of the
// row, and the rest of the draft is let go.
//
// Run by one group; collective. One fetch-and on the row's word takes the draft: of commits that
// race, from wherever, exactly one finds it open. Its lane alone then writes the accepted blocks to
// entries beyond the visible length, and over a tail that a private copy of the same tokens
// replaces; one store of the word publishes them all. Nothing of the scratch of other operations is
// used on that way, so that commits may run beside one another.
//
// Where a lane finds an open row without a draft, the row may stand twice in the batch, and the
// wrong mention have been quicker. So that the first good mention wins on every machine, all then
// give back what they took, look again, and only the first lane that finds a row good takes it.
//
// Memory ordering: a row's entries are written before F0, and its word after it; F0 also stands
//   before the drops. See draft_batch.h for what the operations answer.
// Cost: 4 loads and 1 fetch-and per row before it is published; 1 load and 1 compare-and-swap per
//   block that is let go.

#ifndef KVPAGE_CORE_COMMIT_DRAFT_H_
#define KVPAGE_CORE_COMMIT_DRAFT_H_

#include <cstdint>

#include "kvpage/core/block_pool_ref.h"
#include "kvpage/core/draft_batch.h"
#include "kvpage/core/draft_entries.h"
#include "kvpage/core/row_batch.h"

namespace kvpage {

template <Atomics A, Group G>
class CommitDraft {
 public:
  static constexpr bool kIsShort = true;  // has no way that is worth a function of its own

  KVPAGE_HOST_DEVICE CommitDraft(G& g, const BlockPoolRef<A>& pool, const PageTableRef<A>& table,
                                 const CommitDraftBatch& batch)
      : g_(g), pool_(pool), table_(table), batch_(batch) {}

  KVPAGE_HOST_DEVICE CommitDraft(G& g, const BlockPoolRef<A>& pool, const PageTableRef<A>& table,
                                 const AbortDraftBatch& batch)
      : CommitDraft(g, pool, table, CommitDraftBatch{.batch = batch.batch, .fence = batch.fence}) {}

  KVPAGE_HOST_DEVICE void Run() {
    const uint32_t size = CountOrLimit(batch_.batch.count, batch_.batch.num_rows);
    // The last subgroup finds out where freed blocks go, beside the rows.
    auto w = g_.subgroup();
    uint32_t set = PendingBlocksRef<A>::kNoSet;
    if (g_.subgroup_index() == g_.num_subgroups() - 1) {
      set = pool_.pending().SetFor(w, batch_.fence);
    }

    Draft draft;
    bool lost = false;
    bool failed = false;
    for (uint32_t i = g_.rank(); i < size; i += g_.size()) {
      draft = Look(pool_, table_, batch_, i, false);
      if (draft.status == OpStatus::kOk && !table_.TakeDraft(draft.row).drafting) {
        draft.status = OpStatus::kWrongState;
      }
      // Also if it had gone when this lane looked: another lane may have been ahead.
      lost |= draft.status == OpStatus::kWrongState;
      failed |= draft.status != OpStatus::kOk;
      statuses()[i] = draft.status;
    }
    const bool all_or_none = batch_.batch.failure == FailureMode::kWholeBatch;
    set = g_.Shuffle(set, g_.size() - 1);
    g_.Sync();  // before F0, for what was seen; and before a block is put into the set
    if (g_.Any(lost || (all_or_none && failed))) {
      G its_group = g_;  // so that g_ itself can stay in registers
      AskAgain(its_group, pool_, table_, batch_, size);
      g_ = its_group;
      // What this lane saw may have been when another had taken the draft.
      if (g_.rank() < size) {
        const OpStatus status = statuses()[g_.rank()];
        draft = {};
        if (status == OpStatus::kOk) draft = Look(pool_, table_, batch_, g_.rank(), true);
      }
      g_.Sync();  // before F0, as above
    }
    Finish(size, set, draft);
  }

 private:
  // A row's draft, as its lane sees it.
  struct Draft {
    OpStatus status = OpStatus::kInvalid;
    uint32_t row = 0;
    SequenceState state;
    DraftShape shape;
    uint32_t branch = 0;
    uint32_t tokens = 0;  // accepted
    // Of the branch: how many blocks hold tokens, and how many of these accepted ones.
    uint32_t blocks = 0;
    uint32_t kept = 0;
    BlockId first = kNullBlock, second = kNullBlock;  // its draft entries 0 and 1
    uint32_t first_look = 0, second_look = 0;         // at their words
    uint32_t index = 0;                               // of the block that the draft begins in
    uint32_t held = 0;
  };

  KVPAGE_HOST_DEVICE OpStatus* statuses() const { return batch_.batch.statuses; }

  // `is_taken`: by the caller.
  KVPAGE_HOST_DEVICE static Draft Look(const BlockPoolRef<A>& pool, const PageTableRef<A>& table,
                                       const CommitDraftBatch& batch, uint32_t i, bool is_taken) {
    Draft draft;
    const int32_t number = batch.batch.rows[i];
    const int32_t tokens = batch.tokens == nullptr ? 0 : batch.tokens[i];
    const int32_t branch = batch.branches == nullptr ? 0 : batch.branches[i];
    const PageTableStorage& s = table.storage();
    if (static_cast<uint32_t>(number) >= s.max_sequences) return draft;
    draft.row = static_cast<uint32_t>(number);
    draft.branch = static_cast<uint32_t>(branch) < s.max_draft_branches ? branch : 0;
    // All at once, before it is known whether there is a draft.
    draft.state = table.OwnSequence(draft.row);
    draft.shape = DraftShape::Parse(A::LoadRelaxed(&s.draft_shapes[draft.row]));
    draft.held = A::LoadRelaxed(&s.held_blocks[draft.row]);
    draft.first = table.DraftEntry(draft.row, draft.branch, 0);
    if (s.draft_branch_blocks > 1) draft.second = table.DraftEntry(draft.row, draft.branch, 1);
    if (draft.first != kNullBlock) draft.first_look = pool.words().Look(draft.first);
    if (draft.second != kNullBlock) draft.second_look = pool.words().Look(draft.second);
    draft.status = draft.state.open ? OpStatus::kWrongState : OpStatus::kClosed;
    if (!draft.state.drafting && !is_taken) return draft;
    draft.status = OpStatus::kInvalid;
    if (static_cast<uint32_t>(branch) >= draft.shape.branches) return draft;
    if (static_cast<uint32_t>(tokens) > draft.shape.tokens) return draft;
    draft.status = OpStatus::kOk;
    draft.tokens = static_cast<uint32_t>(tokens);
    const uint32_t kv_len = static_cast<uint32_t>(draft.state.kv_len);
    draft.index = kv_len / s.block_tokens;
    const uint32_t offset = kv_len - draft.index * s.block_tokens;
    draft.blocks = CeilDiv32(offset + draft.shape.tokens, s.block_tokens);
    draft.kept = tokens == 0 ? 0 : CeilDiv32(offset + draft.tokens, s.block_tokens);
    return draft;
  }

  // Gives back what was taken, then asks again for the first good mention of each row. Apart from
  // the common way, which shall not carry its registers. Collective.
  KVPAGE_HOST_DEVICE KVPAGE_NOINLINE static void AskAgain(G& g, const BlockPoolRef<A> pool,
                                                          const PageTableRef<A> table,
                                                          const CommitDraftBatch batch,
                                                          uint32_t size) {
    OpStatus* const statuses = batch.batch.statuses;
    const int32_t* const numbers = batch.batch.rows;
    for (uint32_t i = g.rank(); i < size; i += g.size()) {
      if (statuses[i] == OpStatus::kOk) table.GiveBackDraft(numbers[i]);
    }
    g.Sync();
    for (uint32_t i = g.rank(); i < size; i += g.size()) {
      statuses[i] = Look(pool, table, batch, i, false).status;
      if (statuses[i] != OpStatus::kOk) continue;
      A::FenceAcqRel();  // behind a claim that another batch has given up, see TakeFirst
      A::FetchMinRelaxed(&table.storage().claims[numbers[i]], i);
    }
    g.Sync();
    bool failed = false;
    for (uint32_t i = g.rank(); i < size; i += g.size()) {
      if (statuses[i] == OpStatus::kOk && !TakeFirst(table, numbers[i], i)) {
        statuses[i] = OpStatus::kWrongState;
      }
      failed |= statuses[i] != OpStatus::kOk;
    }
    if (batch.batch.failure != FailureMode::kWholeBatch || !g.Any(failed)) return;
    for (uint32_t i = g.rank(); i < size; i += g.size()) {
      if (statuses[i] != OpStatus::kOk) continue;
      table.GiveBackDraft(numbers[i]);
      statuses[i] = OpStatus::kCancelled;
    }
  }
  // Takes the row's draft for place i, if that is its first mention; whether it did.
  KVPAGE_HOST_DEVICE static bool TakeFirst(const PageTableRef<A>& table, uint32_t row, uint32_t i) {
    uint32_t* const claim = &table.storage().claims[row];
    if (A::LoadRelaxed(claim) != i) return false;
    A::StoreRelaxed(claim, PageTableRef<A>::kUnclaimed);
    // If the draft is not there for this batch, whoever has it may give it back, and ask again:
    // then it must not find this claim, for nobody would come for it.
    A::FenceAcqRel();
    return table.TakeDraft(row).drafting;
  }

  // Publishes what was taken, and lets the rest go. Collective.
  KVPAGE_HOST_DEVICE void Finish(uint32_t size, uint32_t set, Draft draft) const {
    auto w = g_.subgroup();
    FreedBlocks<A, decltype(w)> freed(pool_.gate(), pool_.bits(), pool_.pending(), set, w);
    bool must_fence = size > g_.size();  // a word is looked at after the Sync before F0
    for (uint32_t base = 0; base < size; base += g_.size()) {
      const uint32_t i = base + g_.rank();
      const bool is_place = i < size;
      if (size > g_.size()) {
        draft = {};
        if (is_place && statuses()[i] == OpStatus::kOk)
          draft = Look(pool_, table_, batch_, i, true);
      }
      const bool ok = is_place && draft.status == OpStatus::kOk;
      if (!ok) draft = {};
      const bool replaced = ok && PlaceKept(draft);
      must_fence |= replaced;
      A::FenceAcqRel();  // F0, and the release of the entries
      if (ok) {
        SequenceState state = draft.state;
        state.drafting = false;
        state.kv_len += static_cast<int32_t>(draft.tokens);
        state.generation += replaced;
        table_.Publish(draft.row, state, true);
      }
      bool all_ok = true;
      if (w.Any(draft.shape.branches > 1 || draft.blocks > 2)) {
        all_ok = DropDraftEntries(w, pool_, table_, ok, draft.row, MisusedBy::kCommitDraft, freed);
        must_fence = true;
      } else {
        // The common step: a block or none.
        const bool two = draft.first != kNullBlock && draft.second != kNullBlock;
        Dropped second;
        if (w.Any(two)) {
          second = DropOne(draft.row, 1, two ? draft.second : kNullBlock, draft.second_look, freed);
        }
        const bool has_first = draft.first != kNullBlock;
        const Dropped other =
            DropOne(draft.row, has_first ? 0 : 1, has_first ? draft.first : draft.second,
                    has_first ? draft.first_look : draft.second_look, freed);
        all_ok = second.status == OpStatus::kOk && other.status == OpStatus::kOk;
        must_fence |= second.changed || other.changed;
      }
      // Somebody released a block that was the draft's: tell it, and carry on.
      if (!all_ok) statuses()[i] = OpStatus::kDoubleFree;
    }
    freed.Flush(!w.Any(must_fence));
  }

  // In draft entry n of a row with one branch; `look`: at its word, before F0. Collective.
  template <Group W>
  KVPAGE_HOST_DEVICE Dropped DropOne(uint32_t row, uint32_t n, BlockId id, uint32_t look,
                                     FreedBlocks<A, W>& freed) const {
    Dropped dropped;
    if (id != kNullBlock) {
      table_.SetDraftEntry(row, 0, n, kNullBlock);
      dropped = pool_.words().DropLookedAt(id, 1, look);
    }
    freed.Add(dropped.last, id);
    if (dropped.status != OpStatus::kOk) {
      pool_.mirror().Report({.by = MisusedBy::kCommitDraft,
                             .status = dropped.status,
                             .row = static_cast<int32_t>(row),
                             .block = id});
    }
    return dropped;
  }

  // Exchanges the accepted blocks with the entries that they take the place of, so that the draft
  // entries hold what is to be dropped. Whether an entry that readers may see was replaced.
  KVPAGE_HOST_DEVICE bool PlaceKept(Draft& draft) const {
    bool replaced = false;
    for (uint32_t n = 0; n < draft.kept; ++n) {
      const BlockId id = Entry(draft, n);
      if (id == kNullBlock) continue;  // the row's own block
      const uint32_t at = draft.index + n;
      const BlockId old = at < draft.held ? table_.Entry(draft.row, at) : kNullBlock;
      table_.SetEntry(draft.row, at, id);
      table_.SetDraftEntry(draft.row, draft.branch, n, old);
      const uint32_t look = old != kNullBlock ? pool_.words().Look(old) : 0;
      if (n == 0) draft.first = old, draft.first_look = look;
      if (n == 1) draft.second = old, draft.second_look = look;
      replaced |= old != kNullBlock;
    }
    const uint32_t needed = draft.index + draft.kept;
    if (draft.kept > 0 && needed > draft.held) table_.SetHeldBlocks(draft.row, needed);
    return replaced;
  }
  KVPAGE_HOST_DEVICE BlockId Entry(const Draft& draft, uint32_t index) const {
    if (index == 0) return draft.first;
    if (index == 1) return draft.second;
    return table_.DraftEntry(draft.row, draft.branch, index);
  }

  G& g_;
  const BlockPoolRef<A>& pool_;
  const PageTableRef<A>& table_;
  const CommitDraftBatch batch_;
};

}  // namespace kvpage

#endif  // KVPAGE_CORE_COMMIT_DRAFT_H_
