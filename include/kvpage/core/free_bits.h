// SPDX-License-Identifier: Apache-2.0
//
// kvpage/core/free_bits.h
//
// The store: which blocks are free, one bit each (1 = free), in leaf words of 64 with one summary
// bit per leaf. A set of bits commutes: the same releases in any order leave the same state,
// nothing wraps, and there is no ABA. Each shard has a region of its own.
//
// A group first looks at the leaves where it starts (Look, beside the gate's own loads), and is
// served at one look in a pool that is not nearly full; after that the summary leads it from
// non-empty leaf to non-empty leaf. Claim is called only after the gate granted `want`
// blocks of the shard, so at least that many bits are set or about to be, and the search ends.
// Clearing a bit that is clear claims nothing and needs no undo. A summary bit may be set over an
// empty leaf, but is never left clear over one that is not: who clears it reads the leaf again.
//
// Thread safety: everything may be called at any time by any group; Init needs the store to itself.
// Memory ordering: see docs/design.md, "Free bits". A block's word carries it from holder
//   to holder, not its bit: the caller of Claim calls BlockWordsRef::Own and then executes F2.
// Cost: Look: 1 load. Claim: 1 fetch-and per leaf used; where the first look does not serve,
//   per look 1 summary load, and 1 load per lane; 1 fetch-and and 1 load per leaf that it empties.
//   Put: 1 fetch-or; 1 more on the summary when the leaf was empty. 65/64 bits per block.

#ifndef KVPAGE_CORE_FREE_BITS_H_
#define KVPAGE_CORE_FREE_BITS_H_

#include <cstdint>

#include "kvpage/core/atomics.h"
#include "kvpage/core/bits.h"
#include "kvpage/core/claimed_blocks.h"
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

  // A lane's leaf as a group looks into a shard.
  struct Seen {
    uint32_t leaf = 0;
    uint64_t bits = 0;
    bool by_summary = false;   // a summary bit led to the leaf
    bool is_repeated = false;  // a lower lane has the same leaf
  };

  // A few leaves from block number `start` of a shard on, one for each of the first lanes.
  template <Group W>
  KVPAGE_HOST_DEVICE Seen Look(W& w, uint32_t shard, uint32_t start) const {
    const uint32_t leaves = 1u << leaf_shift_;
    const uint32_t lane = w.rank() & (kLeavesPerLook - 1);
    Seen seen;
    seen.leaf = (shard << leaf_shift_) + (((start >> 6) + lane) & (leaves - 1));
    seen.bits = A::LoadRelaxed(&s_.leaves[seen.leaf]);
    seen.is_repeated = w.rank() >= kLeavesPerLook || w.rank() >= leaves;
    return seen;
  }

  // The short way, if one leaf of those that Look(w, shard, start) showed has as many blocks as are
  // missing: claims them, of which others may have been quicker to take some. None otherwise.
  // Collective.
  template <Group W>
  KVPAGE_HOST_DEVICE ClaimedBlocks ClaimFromOneLeaf(W& w, const Seen& seen, uint32_t missing,
                                                    uint32_t start, bool tidies = true) const {
    const uint32_t here = PopCount(seen.bits);
    const uint32_t lane = w.First(here >= missing);
    ClaimedBlocks claimed;
    // The lowest lane is not one that repeats a leaf. Lowest ids first: no lower leaf is passed
    // over for one that has them all.
    if (lane == w.size() || (start == 0 && lane != w.First(here != 0))) return claimed;
    uint32_t count = 0;
    if (w.rank() == lane) {
      claimed.bits = ClaimBits(seen, LowestFrom(start & 63, seen, missing), claimed.emptied);
      if (tidies) Tidy(seen, claimed);
      claimed.first = FirstOf(seen.leaf);
      count = PopCount(claimed.bits);
      const uint32_t low = count == 0 ? 0 : LowestBit(claimed.bits);
      const uint64_t run = claimed.bits >> low;
      claimed.run = count == missing && (run & (run + 1)) == 0 ? claimed.first + low : kNullBlock;
    }
    claimed.run = w.Shuffle(claimed.run, lane);
    claimed.total = claimed.run != kNullBlock ? missing : w.Shuffle(count, lane);
    claimed.before = w.rank() > lane ? claimed.total : 0;
    return claimed;
  }

  // Looks at one summary word per lane, from number `at` on round the shard, and at one of the
  // leaves that they show per lane: the lowest for hash 0, else from anywhere among them on. False
  // if they show none. Collective.
  template <Group W>
  KVPAGE_HOST_DEVICE bool LookBySummary(W& w, uint32_t shard, uint32_t at, uint32_t hash,
                                        Seen& seen) const {
    const uint32_t index = (at + w.rank()) & (num_summaries_ - 1);
    uint64_t word = 0;
    if (w.rank() < num_summaries_) {
      word = A::LoadRelaxed(&s_.summaries[shard * num_summaries_ + index]);
    }
    uint32_t leaves;
    const uint32_t before = w.ExclusiveScan(PopCount(word), leaves);
    seen = {};
    if (leaves == 0) return false;
    uint32_t item = w.rank() + static_cast<uint32_t>(uint64_t{hash} * leaves >> 32);
    if (item >= leaves) item -= leaves;
    const bool has_leaf = w.rank() < leaves;
    if (!has_leaf) item = 0;
    const uint32_t lane = ClaimedBlocks::FindLane(w, before, item);
    const uint64_t its_word = w.Shuffle(word, lane);
    const uint32_t its_before = w.Shuffle(before, lane);
    const uint32_t its_index = w.Shuffle(index, lane);
    if (has_leaf) {
      seen.leaf =
          (shard << leaf_shift_) + (its_index << 6) + SelectBit(its_word, item - its_before);
      seen.bits = A::LoadRelaxed(&s_.leaves[seen.leaf]);
      seen.by_summary = true;
    }
    return true;
  }

  // Claims up to `missing` of the blocks seen: all from one leaf if one has as many, else from the
  // leaves of the lowest lanes. If it does not tidy up, the caller is to, later. Collective.
  template <Group W>
  KVPAGE_HOST_DEVICE ClaimedBlocks ClaimSeen(W& w, const Seen& seen, uint32_t missing,
                                             uint32_t start, bool tidies = true) const {
    ClaimedBlocks claimed = ClaimFromOneLeaf(w, seen, missing, start, tidies);
    if (claimed.total > 0) return claimed;
    const uint32_t here = seen.is_repeated ? 0 : PopCount(seen.bits);
    uint32_t shown;
    const uint32_t before = w.ExclusiveScan(here, shown);
    if (here != 0 && before < missing) {
      claimed.bits = ClaimBits(seen, LowestBits(seen.bits, missing - before), claimed.emptied);
      if (tidies) Tidy(seen, claimed);
    } else if (here == 0 && seen.by_summary) {
      ClearSummary(seen.leaf);  // left behind by a Put that overtook the one who emptied the leaf
    }
    claimed.first = FirstOf(seen.leaf);
    claimed.before = w.ExclusiveScan(PopCount(claimed.bits), claimed.total);
    return claimed;
  }

  // The end of a claim, for which nobody waits: the summary learns which leaf was emptied.
  KVPAGE_HOST_DEVICE void Tidy(const Seen& seen, const ClaimedBlocks& claimed) const {
    if (claimed.emptied) ClearSummary(seen.leaf);
  }

  // Takes `want` free blocks of a shard, beginning with what Look(w, shard, start) showed. With
  // start 0 and nobody else active: the lowest ids, in ascending order. For every look that gets
  // some calls sink(w, position, claimed) in all lanes: a ClaimedBlocks whose numbers are to be
  // counted from `position`. Collective over w.
  template <Group W, class Sink>
  KVPAGE_HOST_DEVICE void Claim(W& w, uint32_t shard, uint32_t want, uint32_t start, Seen seen,
                                Sink sink) const {
    const uint32_t hash = start * 0x9e3779b9u;  // 0 for start 0
    uint32_t at = hash >> 16;                   // summary word that lane 0 looks at
    uint32_t misses = 0;
    for (uint32_t taken = 0; taken < want;) {
      const ClaimedBlocks claimed = ClaimSeen(w, seen, want - taken, start);
      if (claimed.total > 0) sink(w, taken, claimed);
      taken += claimed.total;
      if (taken == want) return;
      if (claimed.total > 0) {
        misses = 0;
      } else if (w.Any(seen.bits != 0) && ++misses > 1) {
        A::Pause(misses - 2);
        // Blocks are known to be there, but others are quicker here.
        if (misses > kMostMisses) at += w.size();
      }
      for (uint32_t passed = 0; !LookBySummary(w, shard, at, hash, seen); at += w.size()) {
        passed += w.size();
        if (passed < num_summaries_) continue;
        A::Pause(misses++);  // the blocks are on their way
        passed = 0;
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

 private:
  // Claims these bits of a leaf; returns those that were still there. `emptied`: they were the
  // last.
  KVPAGE_HOST_DEVICE uint64_t ClaimBits(const Seen& seen, uint64_t bits, bool& emptied) const {
    const uint64_t old = A::FetchAndRelaxed(&s_.leaves[seen.leaf], ~bits);
    emptied = (old & ~bits) == 0;
    return old & bits;
  }

  // `n` of the bits seen, from bit number `turn` on round the word: groups that start in one leaf
  // take different ones.
  KVPAGE_HOST_DEVICE static uint64_t LowestFrom(uint32_t turn, const Seen& seen, uint32_t n) {
    if (turn == 0) return LowestBits(seen.bits, n);
    const uint64_t bits = LowestBits(seen.bits >> turn | seen.bits << (64 - turn), n);
    return bits << turn | bits >> (64 - turn);
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
  // Enough to find a leaf with a block for each lane, as long as half are free.
  static constexpr uint32_t kLeavesPerLook = 8;

  // Looks at leaves that others keep emptying, before the search goes on elsewhere.
  static constexpr uint32_t kMostMisses = 66;

  FreeBitsStorage s_;
  uint32_t leaf_shift_;
  uint32_t num_summaries_;  // per shard, a power of two
};

}  // namespace kvpage

#endif  // KVPAGE_CORE_FREE_BITS_H_
