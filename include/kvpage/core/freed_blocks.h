// SPDX-License-Identifier: Apache-2.0
//
// kvpage/core/freed_blocks.h
//
// Collects blocks whose last reference is gone and makes them free, or pending under a fence: bits
// first, then credit, merged per leaf word over the lanes and over neighbouring ids of one lane.
//
// Thread safety: one object per group; the pool may be in use by anybody.
// Memory ordering: a block's word carries it to its next owner (block_words.h), not its bit. The
//   fence that must stand before the credit (docs/design.md, "The exact gate") is Flush's, or, for
//   MakeFree, the one of BlockWordsRef::Drop.
// Cost: per leaf word that changes hands 1 fetch-or and 1 add, per flush 1 fence.

#ifndef KVPAGE_CORE_FREED_BLOCKS_H_
#define KVPAGE_CORE_FREED_BLOCKS_H_

#include <cstdint>

#include "kvpage/core/exact_gate.h"
#include "kvpage/core/free_bits.h"
#include "kvpage/core/pending_blocks.h"

namespace kvpage {

template <Atomics A, Group W>
class FreedBlocks {
 public:
  // `set`: of pending blocks, where the blocks go to; kNoSet: they are free at once.
  KVPAGE_HOST_DEVICE FreedBlocks(const ExactGateRef<A>& gate, const FreeBitsRef<A>& bits,
                                 const PendingBlocksRef<A>& pending, uint32_t set, W& group)
      : gate_(gate), bits_(bits), pending_blocks_(pending), set_(set), w_(group) {}

  // This lane's next freed block, if it has one. Collective.
  KVPAGE_HOST_DEVICE void Add(bool freed, BlockId id) {
    const uint32_t leaf = freed ? bits_.LeafOf(id) : 0;
    if (w_.Any(freed && collected_ != 0 && leaf != leaf_)) Flush();
    if (!freed) return;
    leaf_ = leaf;
    collected_ |= bits_.BitOf(id);
  }

  // Makes everything added so far free. Collective; must be called before the object dies.
  // `is_fenced`: all drops found their words as they had been before a Sync and F0.
  KVPAGE_HOST_DEVICE void Flush(bool is_fenced = false) {
    if (!w_.Any(collected_ != 0)) return;
    w_.Sync();                         // before the fence: a lane credits what other lanes dropped
    if (!is_fenced) A::FenceAcqRel();  // F1
    if (set_ == PendingBlocksRef<A>::kNoSet) {
      MakeFree(gate_, bits_, w_, leaf_, collected_);
    } else {
      w_.OrByKey(collected_ != 0, leaf_, collected_,
                 [&](uint32_t leaf, uint64_t blocks) { pending_blocks_.Put(set_, leaf, blocks); });
    }
    collected_ = 0;
  }

  // Makes each lane's blocks `my_blocks` of a leaf free, if it has any. Collective.
  KVPAGE_HOST_DEVICE static void MakeFree(const ExactGateRef<A>& gate, const FreeBitsRef<A>& bits,
                                          W& w, uint32_t my_leaf, uint64_t my_blocks) {
    w.OrByKey(my_blocks != 0, my_leaf, my_blocks, [&](uint32_t leaf, uint64_t blocks) {
      bits.Put(leaf, blocks);
      gate.Credit(bits.ShardOfLeaf(leaf), PopCount(blocks));
    });
  }

 private:
  const ExactGateRef<A>& gate_;
  const FreeBitsRef<A>& bits_;
  const PendingBlocksRef<A>& pending_blocks_;
  const uint32_t set_;
  W& w_;
  uint32_t leaf_ = 0;
  uint64_t collected_ = 0;
};

}  // namespace kvpage

#endif  // KVPAGE_CORE_FREED_BLOCKS_H_
