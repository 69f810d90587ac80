// SPDX-License-Identifier: Apache-2.0
//
// kvpage/core/state_hash.h
//
// One number for the whole state: equal after equal operations on every machine, and (but for one
// chance in 2^64) different when two ranks have drifted apart. It covers which blocks are free,
// which are pending and until when, every block's generation and references, every row's word,
// blocks, entries and draft; not the layout, nor how the gate's counters came to their difference.
//
// Thread safety: no operation may be under way; workers may run at once.
// Memory ordering: none. Cost: reads every word of the state once. `hash` must be 0 before.

#ifndef KVPAGE_CORE_STATE_HASH_H_
#define KVPAGE_CORE_STATE_HASH_H_

#include <cstdint>

#include "kvpage/core/block_pool_ref.h"
#include "kvpage/core/page_table_ref.h"

namespace kvpage {

// Adds the part of worker `worker` of `num_workers` to *hash. A sum of mixed (place, value) pairs:
// the order does not matter.
template <Atomics A>
KVPAGE_HOST_DEVICE void AddStateHash(const BlockPoolRef<A>& pool, const PageTableRef<A>& table,
                                     uint64_t worker, uint64_t num_workers, uint64_t* hash) {
  const auto mixed = [](uint64_t array, uint64_t index, uint64_t value) {
    return MixBits(MixBits(array << 56 ^ index) + value);
  };
  uint64_t sum = 0;
  for (uint64_t i = worker; i < pool.num_blocks(); i += num_workers) {
    const BlockId id = static_cast<BlockId>(i + 1);
    const BlockState state = pool.words().State(id);
    const bool is_free = (pool.bits().Leaf(pool.bits().LeafOf(id)) & pool.bits().BitOf(id)) != 0;
    sum += mixed(1, i,
                 uint64_t{state.generation} << 33 |
                     uint64_t{static_cast<uint32_t>(state.references)} << 1 | uint64_t{is_free});
    uint64_t errors = 0;
    const uint64_t waits_for = pool.pending().WaitsFor(id, errors);
    if (waits_for != 0) sum += mixed(5, i, waits_for);
  }
  for (uint64_t row = worker; row < table.max_sequences(); row += num_workers) {
    const SequenceState state = table.Sequence(static_cast<uint32_t>(row));
    sum += mixed(2, row, state.Word());
    if (state.drafting) sum += mixed(7, row, table.storage().draft_shapes[row]);
    sum += mixed(3, row, table.storage().held_blocks[row]);
  }
  const uint64_t num_entries = uint64_t{table.max_sequences()} * table.row_blocks();
  for (uint64_t i = worker; i < num_entries; i += num_workers) {
    const BlockId id = table.Entry(static_cast<uint32_t>(i / table.row_blocks()),
                                   static_cast<uint32_t>(i % table.row_blocks()));
    if (id != kNullBlock) sum += mixed(4, i, id);
  }
  const uint64_t num_private = uint64_t{table.max_sequences()} * table.draft_row_blocks();
  for (uint64_t i = worker; i < num_private; i += num_workers) {
    const BlockId id = A::LoadRelaxed(&table.storage().draft_entries[i]);
    if (id != kNullBlock) sum += mixed(6, i, id);
  }
  A::AddRelaxed(hash, sum);
}

}  // namespace kvpage

#endif  // KVPAGE_CORE_STATE_HASH_H_
