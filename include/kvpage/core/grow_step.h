// SPDX-License-Identifier: Apache-2.0
//
// kvpage/core/grow_step.h
//
// The short way of Append, Reserve and BeginDraft for the step that a server takes thousands of
// times a second: no more rows than lanes, a few blocks and slots for each, no tail to replace,
// enough blocks in the lowest shard that has any, and none that waits to be drained. Each lane
// keeps its row in registers from the first look to the last store, and the group meets six times.
// Answers what the general way (grow_rows.h) would, id for id.
//
// Cost: one look at each row, one scan, one attempt at one shard. On an H200 most of a step's time
//   is the latency of about ten dependent accesses to the L2 cache.

#ifndef KVPAGE_CORE_GROW_STEP_H_
#define KVPAGE_CORE_GROW_STEP_H_

#include <cstdint>

#include "kvpage/core/block_pool_ref.h"
#include "kvpage/core/grow_row.h"
#include "kvpage/core/row_batch.h"
#include "kvpage/core/row_slots.h"

namespace kvpage {

template <Atomics A, Group G, class Plan>
class GrowStep {
 public:
  // `storage`: what the pool is made of. A kernel passes its parameter, which needs no registers.
  template <class Batch>
  KVPAGE_HOST_DEVICE GrowStep(G& g, const BlockPoolRef<A>& pool, const PageTableRef<A>& table,
                              const BlockPoolStorage& storage, const Batch& batch)
      : g_(g),
        pool_(pool),
        table_(table),
        storage_(storage),
        plan_(pool, table, batch),
        slots_(g, plan_.slots(), plan_.slot_capacity()) {}

  // False, and nothing done, if the batch is not such a step; then the group is to Sync before it
  // goes the general way. Collective.
  KVPAGE_HOST_DEVICE bool Try() {
    const RowBatch& batch = plan_.batch();
    const uint32_t size = CountOrLimit(batch.count, batch.num_rows);
    if (g_.size() == 1 || size > g_.size()) return false;
    if (batch.failure == FailureMode::kWholeBatch) return false;

    const uint32_t i = g_.rank();
    const bool is_place = i < size;
    const GrowArguments arguments = is_place ? plan_.Read(i) : GrowArguments{};
    const RowBatchRun<A, G> rows(g_, table_, batch);
    GrowRow row;
    if (is_place) row = plan_.Look(rows, arguments);
    // The last subgroup sees to the blocks; it looks for them beside the rows.
    auto w = g_.subgroup();
    const uint32_t clerk = g_.num_subgroups() - 1;
    Found found;
    if (g_.subgroup_index() == clerk) found = FindBlocks(w);
    g_.Sync();  // before IsFirst
    if (row.in_table && !rows.IsFirst(i, row.row)) row.status = OpStatus::kInvalid;
    if (row.status != OpStatus::kOk) row.need = 0;

    // Three sums in one: rows that are not so simple, blocks, slots.
    const uint32_t slots = slots_.wanted() ? row.num_slots() : 0;
    const bool is_simple = row.need <= kFew && slots <= kFew && !row.replaces && !found.is_due;
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

    ClaimedBlocks claimed;  // by this lane, of the last subgroup
    if (num_blocks > 0) {
      Grant grant;
      uint32_t shard = ExactGateRef<A>::kNone;
      if (g_.subgroup_index() == clerk) {
        shard = pool_.gate().AskLowest(w, found.gate, num_blocks, grant);
        if (shard != ExactGateRef<A>::kNone) claimed = List(w, shard, num_blocks, found.leaves);
      }
      const uint32_t clerk_rank = g_.size() - w.size();
      if (g_.Shuffle(shard, clerk_rank) == ExactGateRef<A>::kNone) return false;
      g_.Sync();  // the list is complete
      for (uint32_t k = 0; k < row.need; ++k) {
        const BlockId id = table_.storage().ids[row.first_block + k];
        pool_.words().Own(id);
        plan_.Place(row, i, k, id);
      }
      g_.Sync();  // before the fence that publishes what other lanes placed
      pool_.gate().Settle(g_, grant);
    }

    plan_.ClearCopies(rows);
    if (is_place) {
      rows.set_status(i, row.status);
      if (row.status == OpStatus::kOk) plan_.Publish(row, num_blocks > 0);
      slots_.WriteRow(plan_, row);
    }
    slots_.Fill(num_slots);
    pool_.bits().Tidy(found.leaves, claimed);
    return true;
  }

 private:
  using Grant = typename ExactGateRef<A>::Grant;

  static constexpr uint32_t kFew = 8;
  static constexpr uint32_t kBlocksShift = 24;
  static constexpr uint32_t kOthersShift = 48;
  static constexpr uint32_t kSumMask = (1u << 24) - 1;  // of kFew for each lane of any group

  // Where the lowest free blocks seem to be.
  struct Found {
    typename ExactGateRef<A>::Seen gate;
    typename FreeBitsRef<A>::Seen leaves;
    bool is_due = false;  // pending blocks are to be drained first
  };
  template <Group W>
  KVPAGE_HOST_DEVICE Found FindBlocks(W& w) const {
    Found found{pool_.gate().LookAtLowest(w), {}, pool_.pending().IsDue(w)};
    const uint32_t shard = w.First(found.gate.shows > 0);
    if (shard < w.size()) pool_.bits().LookBySummary(w, shard, 0, 0, found.leaves);
    return found;
  }

  // Claims `count` blocks of a shard, lowest ids first, to storage.ids. What it returns is to be
  // tidied up when the others need not wait for it. Collective over w.
  template <Group W>
  KVPAGE_HOST_DEVICE ClaimedBlocks List(W& w, uint32_t shard, uint32_t count,
                                        const typename FreeBitsRef<A>::Seen& seen) const {
    BlockId* const ids = table_.storage().ids;
    const ClaimedBlocks claimed = pool_.bits().ClaimSeen(w, seen, count, 0, false);
    claimed.ForEach(w, [&](uint32_t item, BlockId id) { ids[item] = id; });
    if (claimed.total < count) {
      ListOthers(storage_.bits, g_.subgroup(), shard, count - claimed.total, ids + claimed.total);
    }
    return claimed;
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
  const Plan plan_;
  const RowSlots<A, G> slots_;
};

}  // namespace kvpage

#endif  // KVPAGE_CORE_GROW_STEP_H_
