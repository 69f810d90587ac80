// SPDX-License-Identifier: Apache-2.0
//
// kvpage/core/free_bits.h
//
// The store: which blocks are free, one bit each (1 = free), in leaf words of 64 with one summary
// bit per leaf. A set of bits commutes: the same releases in any order leave the same state,
// nothing wraps, and there is no ABA. Each shard has a region of its own.
//
// Claim is called only after the gate granted `want` blocks of the shard, so at least that many
// bits are set or about to be, and the search ends. Clearing a bit that is already clear claims
// nothing and needs no undo. A summary bit may be set over an empty leaf; it is never left clear
// over a leaf that is not: whoever empties a leaf clears the summary bit and then reads the leaf
// again.
//
// Thread safety: everything may be called at any time by any group; Init needs the store to itself.
// Memory ordering: see docs/design.md, "Free bits". The caller of Put has executed FenceAcqRel
//   before it; the caller of Claim executes FenceAcqRel after it.
// Cost: Claim: 1 summary load per 64 leaves passed over, 1 load and 1 fetch-and per leaf used.
//   Put: 1 fetch-or; 1 more on the summary when the leaf was empty. 1 bit + 1/64 bit per block.

#ifndef KVPAGE_CORE_FREE_BITS_H_
#define KVPAGE_CORE_FREE_BITS_H_

#include <cstdint>

#include "kvpage/core/atomics.h"
#include "kvpage/core/bits.h"
#include "kvpage/core/group.h"
#include "kvpage/core/types.h"

namespace kvpage {

struct FreeBitsStorage {
  uint64_t* leaves = nullptr;     // [num_shards][blocks_per_shard / 64]
  uint64_t* summaries = nullptr;  // [num_shards][summaries_per_shard]
  uint32_t num_blocks = 0;
  uint32_t shard_shift = 0;  // log2 of the blocks per shard, at least 6

  KVPAGE_HOST_DEVICE constexpr uint32_t num_shards() const {
    return static_cast<uint32_t>(CeilDiv(num_blocks, uint64_t{1} << shard_shift));
  }
  KVPAGE_HOST_DEVICE constexpr uint32_t leaves_per_shard() const { return 1u << (shard_shift - 6); }
  KVPAGE_HOST_DEVICE constexpr uint32_t summaries_per_shard() const {
    return static_cast<uint32_t>(CeilDiv(leaves_per_shard(), 64));
  }
  KVPAGE_HOST_DEVICE constexpr uint64_t num_leaves() const {
    return uint64_t{num_shards()} * leaves_per_shard();
  }
  KVPAGE_HOST_DEVICE constexpr uint64_t num_summaries() const {
    return uint64_t{num_shards()} * summaries_per_shard();
  }
};

template <Atomics A>
class FreeBitsRef {
 public:
  KVPAGE_HOST_DEVICE explicit FreeBitsRef(const FreeBitsStorage& storage)
      : s_(storage),
        leaf_shift_(storage.shard_shift - 6),
        num_summaries_(static_cast<uint32_t>(CeilDiv(uint64_t{1} << leaf_shift_, 64))) {}

  // Block ids start at 1, bits at 0.
  KVPAGE_HOST_DEVICE static uint32_t LeafOf(BlockId id) { return (id - 1) >> 6; }
  KVPAGE_HOST_DEVICE static uint64_t BitOf(BlockId id) { return uint64_t{1} << ((id - 1) & 63); }
  KVPAGE_HOST_DEVICE static BlockId FirstOf(uint32_t leaf) { return (leaf << 6) + 1; }
  KVPAGE_HOST_DEVICE uint32_t ShardOf(BlockId id) const { return (id - 1) >> s_.shard_shift; }
  KVPAGE_HOST_DEVICE uint32_t ShardOfLeaf(uint32_t leaf) const { return leaf >> leaf_shift_; }

  KVPAGE_HOST_DEVICE BlockId FirstIn(uint32_t shard) const { return (shard << s_.shard_shift) + 1; }

  // Blocks of a shard in a pool where all are free.
  KVPAGE_HOST_DEVICE uint32_t BlocksIn(uint32_t shard) const {
    const uint32_t first = shard << s_.shard_shift;
    const uint32_t left = s_.num_blocks - first;
    return left < (1u << s_.shard_shift) ? left : 1u << s_.shard_shift;
  }
  KVPAGE_HOST_DEVICE uint64_t InitialLeaf(uint32_t leaf) const {
    const uint64_t first = uint64_t{leaf} << 6;
    if (first >= s_.num_blocks) return 0;
    const uint64_t left = s_.num_blocks - first;
    return left >= 64 ? ~uint64_t{0} : (uint64_t{1} << left) - 1;
  }

  // Makes every block free. Worker `worker` of `num_workers` does its part; no order among them.
  KVPAGE_HOST_DEVICE void Init(uint64_t worker, uint64_t num_workers) const {
    for (uint64_t leaf = worker; leaf < s_.num_leaves(); leaf += num_workers) {
      A::StoreRelaxed(&s_.leaves[leaf], InitialLeaf(static_cast<uint32_t>(leaf)));
    }
    for (uint64_t i = worker; i < s_.num_summaries(); i += num_workers) {
      const uint32_t shard = static_cast<uint32_t>(i / num_summaries_);
      const uint32_t first = static_cast<uint32_t>(i % num_summaries_) << 6;
      uint64_t word = 0;
      for (uint32_t j = 0; j < 64 && first + j < (1u << leaf_shift_); ++j) {
        const uint32_t leaf = (shard << leaf_shift_) + first + j;
        if (InitialLeaf(leaf) != 0) word |= uint64_t{1} << j;
      }
      A::StoreRelaxed(&s_.summaries[i], word);
    }
  }

  // Takes `want` free blocks of a shard, from leaf number `start` of the shard on, round the
  // region; with start 0 and nobody else active, the lowest ids. For every batch found calls
  // sink(w, position, before, total, first, bits) in all lanes: this lane got the blocks
  // first + i for each set bit i, they are numbers position + before and up of the `want`, and the
  // batch has `total`. Collective over w.
  template <Group W, class Sink>
  KVPAGE_HOST_DEVICE void Claim(W& w, uint32_t shard, uint32_t want, uint32_t start,
                                Sink sink) const {
    const uint32_t turn = start & 63;  // summary words are read from this bit on
    uint32_t taken = 0;
    for (uint32_t attempt = 0; taken < want; ++attempt) {
      if (attempt > 0) A::Pause(attempt - 1);
      for (uint32_t base = 0; base < num_summaries_ && taken < want; base += w.size()) {
        const uint32_t i = base + w.rank();
        const uint32_t index = (i + (start >> 6)) & (num_summaries_ - 1);
        uint64_t word = 0;
        if (i < num_summaries_) {
          word = Rotate(A::LoadRelaxed(&s_.summaries[shard * num_summaries_ + index]), turn);
        }
        uint64_t leaves;
        const uint64_t before = w.ExclusiveScan(PopCount(word), leaves);
        for (uint64_t item = 0; item < leaves && taken < want; item += w.size()) {
          const uint64_t mine = item + w.rank();
          const uint32_t lane = FindLane(w, before, mine < leaves ? mine : leaves - 1);
          const uint64_t its_word = w.Shuffle(word, lane);
          const uint64_t its_before = w.Shuffle(before, lane);
          const uint32_t its_index = w.Shuffle(index, lane);
          uint32_t leaf = 0;
          if (mine < leaves) {
            const uint32_t bit = SelectBit(its_word, static_cast<uint32_t>(mine - its_before));
            leaf = (shard << leaf_shift_) + (its_index << 6) + ((bit + turn) & 63);
          }
          taken += ClaimLeaf(w, mine < leaves, leaf, want - taken, taken, sink);
        }
      }
    }
  }

  // Makes the blocks `bits` of a leaf free. Returns those that already were: 0, unless somebody
  // returned what it did not own.
  KVPAGE_HOST_DEVICE uint64_t Put(uint32_t leaf, uint64_t bits) const {
    const uint64_t old = A::FetchOrRelaxed(&s_.leaves[leaf], bits);
    // Release: whoever clears this summary bit afterwards sees the leaf when it reads it again.
    if (old == 0) A::OrRelease(Summary(leaf), SummaryBit(leaf));
    return old & bits;
  }

  // For an audit at rest.
  KVPAGE_HOST_DEVICE uint64_t Leaf(uint32_t leaf) const { return A::LoadRelaxed(&s_.leaves[leaf]); }
  KVPAGE_HOST_DEVICE bool IsSummarized(uint32_t leaf) const {
    return (A::LoadRelaxed(Summary(leaf)) & SummaryBit(leaf)) != 0;
  }

  // Shares out what a sink was told: calls f(item, id) for each number `item` of the batch, in one
  // lane, so that the lanes that found nothing help those that found much. Collective.
  template <Group W, class F>
  KVPAGE_HOST_DEVICE static void ShareOut(W& w, uint32_t before, uint32_t total, BlockId first,
                                          uint64_t got, F f) {
    if (w.size() == 1) {
      for (uint32_t item = 0; got != 0; got &= got - 1) f(item++, first + LowestBit(got));
      return;
    }
    for (uint32_t base = 0; base < total; base += w.size()) {
      const uint32_t item = base + w.rank();
      const uint32_t lane = FindLane(w, before, item < total ? item : total - 1);
      const uint32_t its_before = w.Shuffle(before, lane);
      const uint64_t its_got = w.Shuffle(got, lane);
      const BlockId its_first = w.Shuffle(first, lane);
      if (item < total) f(item, its_first + SelectBit(its_got, item - its_before));
    }
  }

  // The last lane whose `before` is not above `item`: the lane that holds the item, if `before` is
  // the exclusive scan of how many items each lane holds. Collective.
  template <Group W>
  KVPAGE_HOST_DEVICE static uint32_t FindLane(W& w, uint64_t before, uint64_t item) {
    uint32_t lane = 0;
    for (uint32_t step = TopStep(w.size()); step > 0; step >>= 1) {
      const uint32_t candidate = lane + step;
      const bool inside = candidate < w.size();
      const uint64_t its_before = w.Shuffle(before, inside ? candidate : 0u);
      if (inside && its_before <= item) lane = candidate;
    }
    return lane;
  }

 private:
  template <Group W, class Sink>
  KVPAGE_HOST_DEVICE uint32_t ClaimLeaf(W& w, bool active, uint32_t leaf, uint32_t missing,
                                        uint32_t position, Sink& sink) const {
    const uint64_t seen = active ? A::LoadRelaxed(&s_.leaves[leaf]) : 0;
    uint64_t shown;
    const uint64_t before = w.ExclusiveScan(PopCount(seen), shown);
    uint64_t got = 0;
    if (active && before < missing && seen != 0) {
      const uint64_t bits = LowestBits(seen, static_cast<uint32_t>(missing - before));
      const uint64_t old = A::FetchAndRelaxed(&s_.leaves[leaf], ~bits);
      got = old & bits;
      if ((old & ~bits) == 0) ClearSummary(leaf);
    } else if (active && seen == 0) {
      ClearSummary(leaf);  // left behind by a Put that overtook the one who emptied the leaf
    }
    uint64_t total;
    const uint64_t got_before = w.ExclusiveScan(PopCount(got), total);
    if (total > 0) {
      sink(w, position, static_cast<uint32_t>(got_before), static_cast<uint32_t>(total),
           FirstOf(leaf), got);
    }
    return static_cast<uint32_t>(total);
  }

  KVPAGE_HOST_DEVICE void ClearSummary(uint32_t leaf) const {
    // Acquire: pairs with Put's OrRelease, so that a bit put before that OrRelease is seen below.
    A::FetchAndAcquire(Summary(leaf), ~SummaryBit(leaf));
    if (A::LoadRelaxed(&s_.leaves[leaf]) != 0) A::OrRelease(Summary(leaf), SummaryBit(leaf));
  }

  KVPAGE_HOST_DEVICE uint64_t* Summary(uint32_t leaf) const {
    const uint32_t local = leaf & ((1u << leaf_shift_) - 1);
    return &s_.summaries[ShardOfLeaf(leaf) * num_summaries_ + (local >> 6)];
  }
  KVPAGE_HOST_DEVICE uint64_t SummaryBit(uint32_t leaf) const {
    // Numbered within the shard: a shard may have fewer leaves than a summary word has bits.
    return uint64_t{1} << (leaf & ((1u << leaf_shift_) - 1) & 63);
  }
  KVPAGE_HOST_DEVICE static uint64_t Rotate(uint64_t word, uint32_t right) {
    return right == 0 ? word : word >> right | word << (64 - right);
  }
  // The largest power of two below n; 0 for n = 1.
  KVPAGE_HOST_DEVICE static uint32_t TopStep(uint32_t n) {
    uint32_t step = 1;
    while (step < n) step <<= 1;
    return step >> 1;
  }

  FreeBitsStorage s_;
  uint32_t leaf_shift_;
  uint32_t num_summaries_;  // per shard, a power of two
};

}  // namespace kvpage

#endif  // KVPAGE_CORE_FREE_BITS_H_
