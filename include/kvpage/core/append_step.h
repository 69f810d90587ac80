// SPDX-License-Identifier: Apache-2.0
//
// kvpage/core/append_step.h
//
// The short way of Append and Reserve for the step that a server takes thousands of times a second:
// no more rows than lanes, a few blocks and slots for each, no shared tail, and enough blocks in
// the lowest shard that has any. Each lane keeps its row in registers from the first look to the
// last store, and the group meets six times. Answers what the general way (append_rows.h) would, id
// for id.
//
// Cost: one look at each row, one scan, one attempt at one shard. On an H200 most of a step's time
//   is the latency of about ten dependent accesses to the L2 cache.

#ifndef KVPAGE_CORE_APPEND_STEP_H_
#define KVPAGE_CORE_APPEND_STEP_H_

#include <cstdint>

#include "kvpage/core/append_plan.h"
#include "kvpage/core/block_pool_ref.h"
#include "kvpage/core/row_slots.h"

namespace kvpage {

template <Atomics A, Group G>
class AppendStep {
 public:
  // `storage`: what the pool is made of. A kernel passes its parameter, which needs no registers.
  KVPAGE_HOST_DEVICE AppendStep(G& g, const BlockPoolRef<A>& pool, const PageTableRef<A>& table,
                                const BlockPoolStorage& storage, const AppendBatch& batch)
      : AppendStep(g, pool, table, storage, batch, true) {}

  KVPAGE_HOST_DEVICE AppendStep(G& g, const BlockPoolRef<A>& pool, const PageTableRef<A>& table,
                                const BlockPoolStorage& storage, const ReserveBatch& batch)
      : AppendStep(g, pool, table, storage,
                   AppendBatch{.batch = batch.batch, .tokens = batch.tokens}, false) {}

  // False, and nothing done, if the batch is not such a step; then the group is to Sync before it
  // goes the general way. Collective.
  KVPAGE_HOST_DEVICE bool Try() {
    const uint32_t size = CountOrLimit(batch_.batch.count, batch_.batch.num_rows);
    if (g_.size() == 1 || size > g_.size()) return false;
    if (batch_.batch.failure == FailureMode::kWholeBatch) return false;

    const uint32_t i = g_.rank();
    const bool is_place = i < size;
    const RowBatchRun<A, G> rows(g_, table_, batch_.batch);
    AppendRow row;
    if (is_place) row = plan_.Look(rows, i);
    // The last subgroup sees to the blocks; it looks for them beside the rows.
    auto w = g_.subgroup();
    const uint32_t clerk = g_.num_subgroups() - 1;
    Found found;
    if (g_.subgroup_index() == clerk) found = FindBlocks(w);
    g_.Sync();  // before IsFirst
    if (row.in_table && !rows.IsFirst(i, row.row)) row.status = OpStatus::kInvalid;
    if (row.status != OpStatus::kOk) row.need = 0;

    // Three sums in one: rows that are not so simple, blocks, slots.
    const uint32_t slots = slots_.wanted() ? row.tokens : 0;
    const bool is_simple = row.need <= kFew && slots <= kFew && !row.replaces;
    const uint64_t mine =
        is_simple ? uint64_t{row.need} << kBlocksShift | slots : uint64_t{1} << kOthersShift;
    uint64_t total;
    const uint64_t before = g_.ExclusiveScan(mine, total);
    const uint32_t num_slots = static_cast<uint32_t>(total) & kSumMask;
    const uint32_t num_blocks = static_cast<uint32_t>(total >> kBlocksShift) & kSumMask;
    if (total >> kOthersShift != 0) return false;
    if (slots_.wanted() && !slots_.HasRoom(0, num_slots)) return false;
    if (num_blocks > table_.storage().num_ids()) return false;
    row.first_slot = static_cast<uint32_t>(before) & kSumMask;
    row.first_block = static_cast<uint32_t>(before >> kBlocksShift) & kSumMask;

    if (num_blocks > 0) {
      Grant grant;
      uint32_t shard = ExactGateRef<A>::kNone;
      if (g_.subgroup_index() == clerk) {
        shard = pool_.gate().AskLowest(w, found.gate, num_blocks, grant);
        if (shard != ExactGateRef<A>::kNone) List(w, shard, num_blocks, found.leaves);
      }
      const uint32_t clerk_rank = g_.size() - w.size();
      if (g_.Shuffle(shard, clerk_rank) == ExactGateRef<A>::kNone) return false;
      g_.Sync();  // the list is complete
      for (uint32_t k = 0; k < row.need; ++k) {
        const BlockId id = table_.storage().ids[row.first_block + k];
        pool_.words().Own(id);
        table_.SetEntry(row.row, row.held + k, id);
        if (row.next == kNullBlock) row.next = id;
      }
      g_.Sync();  // before the fence that publishes what other lanes placed
      pool_.gate().Settle(g_, grant);
    }

    rows.ClearCopies(batch_.copies);
    if (is_place) {
      rows.set_status(i, row.status);
      if (row.status == OpStatus::kOk) plan_.Publish(row, num_blocks > 0);
      slots_.WriteRow(row.status == OpStatus::kOk, row.row, row.state.kv_len, row.next, row.tokens,
                      row.first_slot);
    }
    slots_.Fill(num_slots);
    return true;
  }

 private:
  KVPAGE_HOST_DEVICE AppendStep(G& g, const BlockPoolRef<A>& pool, const PageTableRef<A>& table,
                                const BlockPoolStorage& storage, const AppendBatch& batch,
                                bool appends)
      : g_(g),
        pool_(pool),
        table_(table),
        storage_(storage),
        batch_(batch),
        plan_(pool, table, batch, appends),
        slots_(g, table, batch.slots, batch.slot_capacity) {}

  using Grant = typename ExactGateRef<A>::Grant;

  static constexpr uint32_t kFew = 8;
  static constexpr uint32_t kBlocksShift = 24;
  static constexpr uint32_t kOthersShift = 48;
  static constexpr uint32_t kSumMask = (1u << 24) - 1;  // of kFew for each lane of any group

  // Where the lowest free blocks seem to be.
  struct Found {
    typename ExactGateRef<A>::Seen gate;
    typename FreeBitsRef<A>::Seen leaves;
  };
  template <Group W>
  KVPAGE_HOST_DEVICE Found FindBlocks(W& w) const {
    Found found{pool_.gate().LookAtLowest(w), {}};
    const uint32_t shard = w.First(found.gate.shows > 0);
    if (shard < w.size()) pool_.bits().LookBySummary(w, shard, 0, 0, found.leaves);
    return found;
  }

  // Claims `count` blocks of a shard, lowest ids first, to storage.ids. Collective over w.
  template <Group W>
  KVPAGE_HOST_DEVICE void List(W& w, uint32_t shard, uint32_t count,
                               const typename FreeBitsRef<A>::Seen& seen) const {
    BlockId* const ids = table_.storage().ids;
    const ClaimedBlocks claimed = pool_.bits().ClaimSeen(w, seen, count, 0);
    claimed.ForEach(w, [&](uint32_t item, BlockId id) { ids[item] = id; });
    if (claimed.total < count) {
      ListOthers(storage_.bits, g_.subgroup(), shard, count - claimed.total, ids + claimed.total);
    }
  }
  // More than one leaf has. Kept out of the common step's registers and instructions.
  template <Group W>
  KVPAGE_HOST_DEVICE KVPAGE_NOINLINE static void ListOthers(const FreeBitsStorage& storage, W w,
                                                            uint32_t shard, uint32_t count,
                                                            BlockId* ids) {
    const FreeBitsRef<A> bits(storage);
    bits.Claim(w, shard, count, 0, bits.Look(w, shard, 0),
               [&](auto& lanes, uint32_t position, const ClaimedBlocks& claimed) {
                 claimed.ForEach(lanes,
                                 [&](uint32_t item, BlockId id) { ids[position + item] = id; });
               });
  }

  G& g_;
  const BlockPoolRef<A>& pool_;
  const PageTableRef<A>& table_;
  const BlockPoolStorage& storage_;
  const AppendBatch batch_;
  const AppendPlan<A, G> plan_;
  const RowSlots<A, G> slots_;
};

}  // namespace kvpage

#endif  // KVPAGE_CORE_APPEND_STEP_H_
