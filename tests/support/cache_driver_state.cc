// SPDX-License-Identifier: Apache-2.0
//
// The part of CacheDriver that reads the state of a cache.

#include <utility>

#include "kvpage/core/cpu_atomics.h"
#include "tests/support/cache_driver.h"

namespace kvpage::test {
namespace {

BlockState StateOf(uint32_t word) {
  const BlockWordsStorage alone{&word, WordLayout::Make(1, sizeof(word), Placement::kContiguous)};
  return BlockWordsRef<CpuAtomics>(alone).State(1);
}

}  // namespace

Ids CacheDriver::WholeRow(int32_t row) {
  const PageTableStorage& table = cache_->table();
  const size_t row_blocks = table.max_blocks_per_sequence;
  return Read(table.entries + static_cast<size_t>(row) * row_blocks, row_blocks);
}

Ids CacheDriver::Row(int32_t row) {
  Ids entries = WholeRow(row);
  entries.resize(Held(row));
  return entries;
}

SequenceState CacheDriver::Sequence(int32_t row) {
  const PageTableStorage& table = cache_->table();
  const uint32_t index = table.sequence_layout.Index(static_cast<uint32_t>(row));
  return SequenceState::Parse(Read(&table.sequence_words[index]));
}

uint32_t CacheDriver::Held(int32_t row) { return Read(&cache_->table().held_blocks[row]); }

BlockState CacheDriver::Block(BlockId id) {
  const BlockWordsStorage& words = cache_->pool().words;
  return StateOf(Read(&words.words[words.layout.Index(id - 1)]));
}

Ids CacheDriver::DraftRow(int32_t row) {
  const PageTableStorage& table = cache_->table();
  const size_t each = size_t{table.max_draft_branches} * table.draft_branch_blocks;
  return Read(table.draft_entries + static_cast<size_t>(row) * each, each);
}

CacheSnapshot CacheDriver::Snapshot() {
  CacheSnapshot snapshot;
  ReadRows(snapshot);
  ReadBlocks(snapshot);
  return snapshot;
}

void CacheDriver::ReadRows(CacheSnapshot& snapshot) {
  const PageTableStorage& table = cache_->table();
  const size_t row_blocks = table.max_blocks_per_sequence;
  const size_t draft_blocks = size_t{table.max_draft_branches} * table.draft_branch_blocks;
  const size_t num_drafts = draft_blocks == 0 ? 0 : table.max_sequences;
  const Ids entries = Read(table.entries, table.max_sequences * row_blocks);
  const Ids drafts = Read(table.draft_entries, num_drafts * draft_blocks);
  const auto shapes = Read(table.draft_shapes, num_drafts);
  const auto sequences = Read(table.sequence_words, table.sequence_layout.size());
  const auto held = Read(table.held_blocks, table.max_sequences);
  const auto slice = [](const Ids& all, size_t row, size_t each) {
    const auto first = all.begin() + static_cast<ptrdiff_t>(row * each);
    return Ids(first, first + static_cast<ptrdiff_t>(each));
  };
  for (uint32_t row = 0; row < table.max_sequences; ++row) {
    const auto state = SequenceState::Parse(sequences[table.sequence_layout.Index(row)]);
    RowSnapshot is{state.open,
                   state.generation,
                   state.kv_len,
                   held[row],
                   slice(entries, row, row_blocks),
                   {},
                   slice(drafts, row, draft_blocks)};
    if (state.drafting) {
      const auto shape = DraftShape::Parse(shapes[row]);
      is.draft = {true, shape.tokens, shape.branches};
    }
    snapshot.rows.push_back(std::move(is));
  }
}

void CacheDriver::ReadBlocks(CacheSnapshot& snapshot) {
  const BlockPoolStorage& pool = cache_->pool();
  const PendingStorage& pending = pool.pending;
  const size_t num_leaves = pool.bits.num_leaves();
  const auto leaves = Read(pool.bits.leaves, num_leaves);
  const auto words = Read(pool.words.words, pool.words.layout.size());
  const size_t num_sets = pending.num_sets;
  const auto set_leaves = Read(pending.bits.leaves, num_sets * num_leaves);
  const auto set_words =
      Read(pending.words, num_sets == 0 ? 0 : PendingStorage::NumWords(pending.num_sets));
  const auto has = [](const uint64_t* bits, uint32_t i) {
    return (bits[i / 64] >> i % 64 & 1) != 0;
  };
  if (num_sets > 0) snapshot.completed = set_words[0];
  for (uint32_t i = 0; i < pool.num_blocks(); ++i) {
    const BlockState state = StateOf(words[pool.words.layout.Index(i)]);
    BlockSnapshot is{state.references, state.generation, has(leaves.data(), i), 0};
    for (size_t set = 0; set < num_sets; ++set) {
      if (has(&set_leaves[set * num_leaves], i)) is.waits_for = set_words[1 + set];
    }
    snapshot.blocks.push_back(is);
  }
}

}  // namespace kvpage::test
