// SPDX-License-Identifier: Apache-2.0
//
// kvpage/core/pending_blocks.h
//
// Blocks between two owners: nobody holds them any more, but work that is still under way may read
// them. Each was let go under an epoch, and becomes free once that epoch has completed.
//
// Epochs are a timeline: completing one completes all before it. There are a few sets of pending
// blocks (4 by default, at least 2), each a set of bits like the free ones, labelled with the
// youngest epoch of its blocks. When there are more epochs in flight than sets, blocks go to the
// set of a younger epoch: they become free late, never early. A set of bits commutes, so the order
// of releases leaves no trace.
//
//   label 0: nobody's. Blocks in it are due, which a release that comes late relies on.
//   label kDraining: its blocks are being made free.
//
// Thread safety: everything may be called at any time by any group; Init needs the sets to
//   themselves.
// Memory ordering: Complete releases what its caller saw, and Drain acquires it before it makes a
//   block free. See docs/design.md, "Fences".
// Cost: SetFor: 2 loads per set, 1 compare-and-swap for the first release under an epoch. Put: 1
//   fetch-or, 1 add. Drain: nothing due: 3 loads per set; else 1 fetch-and per summary word and 1
//   exchange per leaf. 1 bit + 1/64 bit per block and set.

#ifndef KVPAGE_CORE_PENDING_BLOCKS_H_
#define KVPAGE_CORE_PENDING_BLOCKS_H_

#include <cstdint>

#include "kvpage/core/batch.h"
#include "kvpage/core/exact_gate.h"
#include "kvpage/core/free_bits.h"

namespace kvpage {

inline constexpr uint32_t kMaxPendingSets = 16;

struct PendingStorage {
  uint64_t* words = nullptr;  // [NumWords(num_sets)]: completed; then a label and a count per set
  FreeBitsStorage bits;       // of the first set; the others follow, leaves and summaries apart
  uint32_t num_sets = 0;

  KVPAGE_HOST_DEVICE static constexpr uint64_t NumWords(uint32_t num_sets) {
    return 1 + 2 * uint64_t{num_sets};
  }
};

template <Atomics A>
class PendingBlocksRef {
 public:
  static constexpr uint32_t kNoSet = ~uint32_t{0};

  KVPAGE_HOST_DEVICE explicit PendingBlocksRef(const PendingStorage& storage) : s_(storage) {}

  KVPAGE_HOST_DEVICE uint32_t num_sets() const { return s_.num_sets; }

  KVPAGE_HOST_DEVICE void Init(uint64_t worker, uint64_t num_workers) const {
    if (s_.num_sets == 0) return;
    for (uint64_t i = worker; i < PendingStorage::NumWords(s_.num_sets); i += num_workers) {
      A::StoreRelaxed(&s_.words[i], uint64_t{0});
    }
    for (uint64_t i = worker; i < s_.num_sets * s_.bits.num_leaves(); i += num_workers) {
      A::StoreRelaxed(&s_.bits.leaves[i], uint64_t{0});
    }
    for (uint64_t i = worker; i < s_.num_sets * s_.bits.num_summaries(); i += num_workers) {
      A::StoreRelaxed(&s_.bits.summaries[i], uint64_t{0});
    }
  }

  // All work of `epoch`, and of those before it, is done, as far as the caller knows. Completing an
  // earlier one later changes nothing.
  KVPAGE_HOST_DEVICE void Complete(uint64_t epoch) const {
    A::FenceAcqRel();
    uint64_t completed = A::LoadRelaxed(s_.words);
    while (completed < epoch && !A::CompareExchangeRelaxed(s_.words, completed, epoch)) {
    }
  }
  // Completes the epoch that lies in *word, which goes on by one. Collective.
  template <Group G>
  KVPAGE_HOST_DEVICE void CompleteNext(G& g, uint64_t* word) const {
    if (g.rank() == 0) Complete((*word)++);
    g.Sync();
  }
  KVPAGE_HOST_DEVICE uint64_t Completed() const { return A::LoadAcquire(s_.words); }

  // Which set takes the blocks that are let go under the fence's epoch; kNoSet: they can be free at
  // once. Lanes that put blocks there have met this group since. Collective over w.
  template <Group W>
  KVPAGE_HOST_DEVICE uint32_t SetFor(W& w, const Fence& fence) const {
    if (s_.num_sets == 0 || (fence.epoch == 0 && fence.epoch_word == nullptr)) return kNoSet;
    uint32_t set = kNoSet;
    for (uint32_t attempt = 0;; ++attempt) {
      const Labels mine = LookAtLabels(w, fence);
      if (mine.epoch <= mine.completed) break;
      set = w.Min(mine.match);
      if (set != kNoSet) break;
      set = Claim(w, mine);
      if (set != kNoSet) break;
      A::Pause(attempt);  // another release was quicker, or all are being drained
    }
    A::FenceAcqRel();  // who drained the set last, or completed the epoch, is done with it
    return set;
  }
  // The same for a group, for which one subgroup looks. Collective.
  template <Group G>
  KVPAGE_HOST_DEVICE uint32_t ChooseSet(G& g, const Fence& fence) const {
    if (fence.epoch == 0 && fence.epoch_word == nullptr) return kNoSet;
    uint32_t set = kNoSet;
    if (g.subgroup_index() == 0) {
      auto w = g.subgroup();
      set = SetFor(w, fence);
    }
    set = g.Shuffle(set, 0);
    g.Sync();
    return set;
  }

  // Adds the blocks `blocks` of a leaf, whose last references are gone. The caller has executed
  // FenceAcqRel (F0 or F1), and a meeting with the lane that called SetFor before it.
  KVPAGE_HOST_DEVICE void Put(uint32_t set, uint32_t leaf, uint64_t blocks) const {
    A::AddRelaxed(Count(set), uint64_t{PopCount(blocks)});
    Bits(set).Put(leaf, blocks);
  }

  KVPAGE_HOST_DEVICE uint64_t NumPending() const {
    uint64_t pending = 0;
    for (uint32_t set = 0; set < s_.num_sets; ++set) pending += A::LoadRelaxed(Count(set));
    return pending;
  }
  // What to answer a request that finds `n` too many, where `there` may be free: whether it is
  // enough with the pending blocks.
  KVPAGE_HOST_DEVICE OpStatus FullOrRetry(uint64_t n, uint64_t there) const {
    return there < n && n <= there + NumPending() ? OpStatus::kRetryAfterFence : OpStatus::kFull;
  }

  // Whether one of this lane's sets has blocks whose epoch has completed.
  template <Group W>
  KVPAGE_HOST_DEVICE bool IsDue(W& w) const {
    bool due = false;
    for (uint32_t set = w.rank(); set < s_.num_sets; set += w.size()) {
      // All three at once.
      const uint64_t completed = A::LoadRelaxed(s_.words);
      const uint64_t label = A::LoadRelaxed(Label(set));
      const uint64_t count = A::LoadRelaxed(Count(set));
      due |= count != 0 && label <= completed;
    }
    return due;
  }

  // Makes the blocks of completed epochs free. Collective.
  template <Group G>
  KVPAGE_HOST_DEVICE void Drain(G& g, const ExactGateRef<A>& gate,
                                const FreeBitsRef<A>& free) const {
    if (s_.num_sets == 0 || !g.Any(IsDue(g))) return;
    for (uint32_t set = 0; set < s_.num_sets; ++set) {
      bool mine = false;
      if (g.rank() == 0 && A::LoadRelaxed(Count(set)) != 0) {
        uint64_t label = A::LoadRelaxed(Label(set));
        mine = label <= Completed() && A::CompareExchangeRelaxed(Label(set), label, kDraining);
      }
      if (!g.Any(mine)) continue;
      A::FenceAcqRel();  // for what the drained epoch's work did, which lane 0 acquired
      g.Sync();
      const uint64_t drained = g.Sum(DrainSet(g, set, gate, free));
      g.Sync();  // before the set is somebody else's
      if (g.rank() == 0) {
        A::AddRelaxed(Count(set), uint64_t{0} - drained);
        A::StoreRelease(Label(set), uint64_t{0});
      }
    }
  }

  // For an audit and a hash at rest: the epoch that the block waits for, one more; 0 if it is not
  // pending. `errors` counts blocks that are in two sets, or in one whose summary hides them.
  KVPAGE_HOST_DEVICE uint64_t WaitsFor(BlockId id, uint64_t& errors) const {
    uint64_t epoch = 0;
    for (uint32_t set = 0; set < s_.num_sets; ++set) {
      const FreeBitsRef<A> bits = Bits(set);
      const uint32_t leaf = bits.LeafOf(id);
      if ((bits.Leaf(leaf) & bits.BitOf(id)) == 0) continue;
      errors += epoch != 0 || !bits.IsSummarized(leaf);
      epoch = A::LoadRelaxed(Label(set)) + 1;
    }
    return epoch;
  }

 private:
  static constexpr uint64_t kDraining = ~uint64_t{0};

  KVPAGE_HOST_DEVICE uint64_t* Label(uint32_t set) const { return s_.words + 1 + set; }
  KVPAGE_HOST_DEVICE uint64_t* Count(uint32_t set) const { return Label(s_.num_sets + set); }
  KVPAGE_HOST_DEVICE FreeBitsRef<A> Bits(uint32_t set) const {
    FreeBitsStorage bits = s_.bits;
    bits.leaves += set * bits.num_leaves();
    bits.summaries += set * bits.num_summaries();
    return FreeBitsRef<A>(bits);
  }

  // Of a lane's sets: the one of the epoch, an empty one, that of the next younger epoch and that
  // of the next older one, with their labels.
  struct Labels {
    uint64_t epoch = 0, completed = 0;  // the same in all lanes
    uint32_t match = kNoSet;
    uint32_t empty = kNoSet, younger = kNoSet, older = kNoSet;
    uint64_t empty_label = 0, younger_label = kDraining, older_label = 0;
  };
  template <Group W>
  KVPAGE_HOST_DEVICE Labels LookAtLabels(W& w, const Fence& fence) const {
    // All at once; then the lanes agree on what others may change meanwhile.
    const uint64_t epoch =
        fence.epoch_word == nullptr ? fence.epoch : A::LoadRelaxed(fence.epoch_word);
    const uint64_t completed = A::LoadRelaxed(s_.words);
    uint64_t label = 0, count = 0;
    const auto load = [&](uint32_t set) {
      if (set >= s_.num_sets) return;
      label = A::LoadRelaxed(Label(set));
      count = A::LoadRelaxed(Count(set));
    };
    load(w.rank());
    Labels mine;
    mine.epoch = w.Shuffle(epoch < kDraining ? epoch : kDraining - 1, 0);
    mine.completed = w.Shuffle(completed, 0);
    for (uint32_t set = w.rank(); set < s_.num_sets; set += w.size(), load(set)) {
      if (label == mine.epoch) {
        mine.match = set;
      } else if (label == kDraining) {
        continue;
      } else if (label <= mine.completed && count == 0) {
        if (mine.empty == kNoSet) mine.empty = set, mine.empty_label = label;
      } else if (label > mine.epoch) {
        if (label < mine.younger_label) mine.younger = set, mine.younger_label = label;
      } else if (mine.older == kNoSet || label > mine.older_label) {
        mine.older = set, mine.older_label = label;
      }
    }
    return mine;
  }

  // A set for an epoch that has none: an empty one; else that of a younger epoch; else that of an
  // older one, whose blocks then wait for this epoch. kNoSet: it was taken just now.
  template <Group W>
  KVPAGE_HOST_DEVICE uint32_t Claim(W& w, const Labels& mine) const {
    const uint32_t empty = w.Min(mine.empty);
    if (empty != kNoSet) return Relabel(w, empty, mine.empty, mine.empty_label, mine.epoch);
    const uint64_t younger = w.Min(mine.younger_label);
    if (younger != kDraining) return w.Min(mine.younger_label == younger ? mine.younger : kNoSet);
    const uint64_t oldest = mine.older == kNoSet ? kDraining : ~mine.older_label;
    const uint64_t older = w.Min(oldest);
    const uint32_t set = w.Min(oldest == older ? mine.older : kNoSet);
    if (set == kNoSet) return kNoSet;
    return Relabel(w, set, mine.older, mine.older_label, mine.epoch);
  }
  // By the lane whose set it is.
  template <Group W>
  KVPAGE_HOST_DEVICE uint32_t Relabel(W& w, uint32_t set, uint32_t my_set, uint64_t my_label,
                                      uint64_t epoch) const {
    const bool done = set == my_set && A::CompareExchangeRelaxed(Label(set), my_label, epoch);
    return w.Any(done) ? set : kNoSet;
  }

  // This lane's part; returns how many blocks it made free.
  template <Group G>
  KVPAGE_HOST_DEVICE uint64_t DrainSet(G& g, uint32_t set, const ExactGateRef<A>& gate,
                                       const FreeBitsRef<A>& free) const {
    const uint64_t num_summaries = s_.bits.num_summaries();
    const uint32_t per_shard = s_.bits.summaries_per_shard();
    uint64_t* const summaries = s_.bits.summaries + set * num_summaries;
    uint64_t* const leaves = s_.bits.leaves + set * s_.bits.num_leaves();
    uint64_t drained = 0;
    for (uint64_t i = g.rank(); i < num_summaries; i += g.size()) {
      if (A::LoadRelaxed(&summaries[i]) == 0) continue;
      const uint32_t shard = static_cast<uint32_t>(i / per_shard);
      const uint32_t first =
          (shard << (s_.bits.shard_shift - 6)) + (static_cast<uint32_t>(i % per_shard) << 6);
      // Acquire: the leaves that were put before their summary bit. F1 is the fence below, behind
      // the exchange: what those who put saw comes before the credit.
      uint64_t left = A::FetchAndAcquire(&summaries[i], uint64_t{0});
      for (; left != 0; left &= left - 1) {
        const uint32_t leaf = first + LowestBit(left);
        const uint64_t blocks = A::FetchAndRelaxed(&leaves[leaf], uint64_t{0});
        if (blocks == 0) continue;
        A::FenceAcqRel();
        free.Put(leaf, blocks);
        gate.Credit(shard, PopCount(blocks));
        drained += PopCount(blocks);
      }
    }
    return drained;
  }

  PendingStorage s_;
};

}  // namespace kvpage

#endif  // KVPAGE_CORE_PENDING_BLOCKS_H_
