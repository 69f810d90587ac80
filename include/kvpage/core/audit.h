// SPDX-License-Identifier: Apache-2.0
//
// kvpage/core/audit.h
//
// Proves the invariant of a pool and a table at rest, in three passes with a barrier between them
// (three kernel launches on the GPU): Clear, Count, Check. Each pass is shared out among workers.
//
// Thread safety: no operation may be under way; the workers of one pass may run at once.
// Cost: reads every word of the state once and every entry twice.

#ifndef KVPAGE_CORE_AUDIT_H_
#define KVPAGE_CORE_AUDIT_H_

#include <cstdint>

#include "kvpage/core/audit_report.h"
#include "kvpage/core/block_pool_ref.h"
#include "kvpage/core/page_table_ref.h"

namespace kvpage {

template <Atomics A>
class Audit {
 public:
  // `outside`: num_blocks words of workspace; afterwards the references of block id - 1 that are no
  // entry of a row.
  KVPAGE_HOST_DEVICE Audit(const BlockPoolRef<A>& pool, const PageTableRef<A>& table,
                           AuditReport* report, uint32_t* outside)
      : pool_(pool), table_(table), report_(report), outside_(outside) {}

  KVPAGE_HOST_DEVICE void Clear(uint64_t worker, uint64_t num_workers) const {
    if (worker == 0) {
      *report_ = AuditReport{};
      report_->num_blocks = pool_.num_blocks();
      report_->counted_pending_blocks = pool_.pending().NumPending();
    }
    for (uint64_t i = worker; i < pool_.num_blocks(); i += num_workers) outside_[i] = 0;
  }

  // Counts the entries that name each block, and checks the rows.
  KVPAGE_HOST_DEVICE void Count(uint64_t worker, uint64_t num_workers) const {
    uint64_t open_rows = 0;
    uint64_t open_drafts = 0;
    uint64_t row_errors = 0;
    for (uint64_t r = worker; r < table_.max_sequences(); r += num_workers) {
      const uint32_t row = static_cast<uint32_t>(r);
      const SequenceState state = table_.Sequence(row);
      const uint32_t held = table_.storage().held_blocks[row];
      const uint64_t needed = CeilDiv(static_cast<uint64_t>(state.kv_len), table_.block_tokens());
      open_rows += state.open;
      open_drafts += state.drafting;
      row_errors += held > table_.row_blocks() || needed > held ||
                    (!state.open && (held > 0 || state.drafting)) ||
                    A::LoadRelaxed(&table_.storage().claims[row]) != PageTableRef<A>::kUnclaimed;
    }
    uint64_t entries = 0;
    const uint64_t num_entries = uint64_t{table_.max_sequences()} * table_.row_blocks();
    for (uint64_t i = worker; i < num_entries; i += num_workers) {
      const uint32_t row = static_cast<uint32_t>(i / table_.row_blocks());
      const uint32_t index = static_cast<uint32_t>(i % table_.row_blocks());
      const BlockId id = table_.Entry(row, index);
      if (id == kNullBlock) {
        row_errors += index < table_.storage().held_blocks[row];
        continue;
      }
      if (index >= table_.storage().held_blocks[row] || !pool_.IsBlock(id) ||
          !pool_.words().State(id).owned()) {
        ++row_errors;
        continue;
      }
      ++entries;
      A::AddRelaxed(&outside_[id - 1], 1u);
    }
    const uint64_t num_private = uint64_t{table_.max_sequences()} * table_.draft_row_blocks();
    for (uint64_t i = worker; i < num_private; i += num_workers) {
      const BlockId id = A::LoadRelaxed(&table_.storage().draft_entries[i]);
      if (id == kNullBlock) continue;
      const uint32_t row = static_cast<uint32_t>(i / table_.draft_row_blocks());
      if (!table_.Sequence(row).drafting || !pool_.IsBlock(id) ||
          !pool_.words().State(id).owned()) {
        ++row_errors;
        continue;
      }
      ++entries;
      A::AddRelaxed(&outside_[id - 1], 1u);
    }
    Add(&report_->open_rows, open_rows);
    Add(&report_->open_drafts, open_drafts);
    Add(&report_->row_errors, row_errors);
    Add(&report_->table_references, entries);
  }

  // Holds bits, words, counts and gate against each other.
  KVPAGE_HOST_DEVICE void Check(uint64_t worker, uint64_t num_workers) const {
    const FreeBitsRef<A>& bits = pool_.bits();
    uint64_t free = 0, owned = 0, pending = 0, references = 0, outside = 0;
    uint64_t block_errors = 0, summary_errors = 0, reference_errors = 0;
    for (uint64_t i = worker; i < pool_.num_blocks(); i += num_workers) {
      const BlockId id = static_cast<BlockId>(i + 1);
      const bool is_free = (bits.Leaf(bits.LeafOf(id)) & bits.BitOf(id)) != 0;
      const BlockState state = pool_.words().State(id);
      const int64_t entries = outside_[i];
      free += is_free;
      owned += state.owned();
      const bool is_pending = pool_.pending().WaitsFor(id, block_errors) != 0;
      pending += is_pending;
      block_errors += is_free + state.owned() + is_pending != 1 || state.references < 0;
      summary_errors += is_free && !bits.IsSummarized(bits.LeafOf(id));
      if (state.references > 0) references += static_cast<uint64_t>(state.references);
      reference_errors += entries > state.references;
      outside += state.references > entries;
      outside_[i] = static_cast<uint32_t>(state.references - entries);
    }
    for (uint64_t s = worker; s < pool_.gate().num_shards(); s += num_workers) {
      const uint32_t shard = static_cast<uint32_t>(s);
      uint64_t bits_set = 0;
      for (BlockId id = bits.FirstIn(shard); id < bits.FirstIn(shard) + bits.BlocksIn(shard);
           id += 64) {
        bits_set += PopCount(bits.Leaf(bits.LeafOf(id)));
      }
      Add(&report_->gate_errors,
          pool_.gate().FreeAtRest(shard) != static_cast<int64_t>(bits_set) ? 1 : 0);
    }
    Add(&report_->free_blocks, free);
    Add(&report_->owned_blocks, owned);
    Add(&report_->pending_blocks, pending);
    Add(&report_->references, references);
    Add(&report_->outside_blocks, outside);
    Add(&report_->block_errors, block_errors);
    Add(&report_->summary_errors, summary_errors);
    Add(&report_->reference_errors, reference_errors);
  }

 private:
  KVPAGE_HOST_DEVICE static void Add(uint64_t* sum, uint64_t n) {
    if (n > 0) A::AddRelaxed(sum, n);
  }

  BlockPoolRef<A> pool_;
  PageTableRef<A> table_;
  AuditReport* report_;
  uint32_t* outside_;
};

}  // namespace kvpage

#endif  // KVPAGE_CORE_AUDIT_H_
