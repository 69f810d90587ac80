// SPDX-License-Identifier: Apache-2.0
//
// kvpage/core/freed_blocks.h
//
// Collects blocks whose last reference is gone and makes them free: bits first, then credit, merged
// per leaf word and per shard over the lanes and over neighbouring ids of one lane.
//
// Thread safety: one object per group; the pool may be in use by anybody.
// Memory ordering: F1 of docs/design.md: a Sync and one FenceAcqRel in every lane before the bits.
//   What other holders of a shared block did before they let go is acquired by its next owner from
//   the block's word (BlockWordsRef::Own comes before F2), not from the bits.
// Cost: per leaf word that changes hands 1 fetch-or, per shard 1 add, per flush 1 fence.

#ifndef KVPAGE_CORE_FREED_BLOCKS_H_
#define KVPAGE_CORE_FREED_BLOCKS_H_

#include <cstdint>

#include "kvpage/core/exact_gate.h"
#include "kvpage/core/free_bits.h"

namespace kvpage {

template <Atomics A, Group W>
class FreedBlocks {
 public:
  KVPAGE_HOST_DEVICE FreedBlocks(const ExactGateRef<A>& gate, const FreeBitsRef<A>& bits, W& group)
      : gate_(gate), bits_(bits), w_(group) {}

  // This lane's next freed block, if it has one. Collective.
  KVPAGE_HOST_DEVICE void Add(bool freed, BlockId id) {
    const uint32_t leaf = freed ? bits_.LeafOf(id) : 0;
    if (w_.Any(freed && pending_ != 0 && leaf != leaf_)) Flush();
    if (!freed) return;
    leaf_ = leaf;
    pending_ |= bits_.BitOf(id);
  }

  // Makes everything added so far free. Collective; must be called before the object dies.
  KVPAGE_HOST_DEVICE void Flush() {
    if (!w_.Any(pending_ != 0)) return;
    MakeFree(gate_, bits_, w_, leaf_, pending_);
    pending_ = 0;
  }

 private:
  // Takes its values apart from the object, so that the object can live in registers.
  KVPAGE_HOST_DEVICE static void MakeFree(const ExactGateRef<A>& gate, const FreeBitsRef<A>& bits,
                                          W& w, uint32_t my_leaf, uint64_t my_blocks) {
    w.Sync();  // before the fence: the lane that puts a bit publishes for the lane that freed it
    A::FenceAcqRel();  // F1
    w.OrByKey(my_blocks != 0, my_leaf, my_blocks, [&](uint64_t leaf, uint64_t blocks) {
      bits.Put(static_cast<uint32_t>(leaf), blocks);
    });
    w.Sync();
    w.AddByKey(my_blocks != 0, bits.ShardOfLeaf(my_leaf), PopCount(my_blocks),
               [&](uint64_t shard, uint64_t n) { gate.Credit(static_cast<uint32_t>(shard), n); });
  }

  const ExactGateRef<A>& gate_;
  const FreeBitsRef<A>& bits_;
  W& w_;
  uint32_t leaf_ = 0;
  uint64_t pending_ = 0;
};

}  // namespace kvpage

#endif  // KVPAGE_CORE_FREED_BLOCKS_H_
