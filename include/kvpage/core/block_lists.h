// SPDX-License-Identifier: Apache-2.0
//
// kvpage/core/block_lists.h
//
// The batch operations Share and Release on lists of blocks. An id may be repeated: each mention is
// one reference. A list is checked as a whole before anything changes, so that a bad list changes
// nothing and the answer names the first entry that goes too far.
//
// Run by one group; collective. Needs no page table. The caller holds the references it gives back;
// an entry that loses a race with another caller's misuse is answered kDoubleFree. Without a status
// array only the first failure is told, and FailureMode::kPerRow is not possible.
// Cost: linear for ascending ids; otherwise each entry is compared with those before it.

#ifndef KVPAGE_CORE_BLOCK_LISTS_H_
#define KVPAGE_CORE_BLOCK_LISTS_H_

#include <cstdint>

#include "kvpage/core/block_pool_ref.h"
#include "kvpage/core/row_batch.h"

namespace kvpage {

template <Atomics A, Group G>
class BlockLists {
 public:
  KVPAGE_HOST_DEVICE BlockLists(G& g, const BlockPoolRef<A>& pool, const BlockListBatch& list)
      : g_(g), pool_(pool), list_(list), size_(CountOrLimit(list.count, list.num_ids)) {}

  // kOk, or the status of the first entry that failed; the same in every lane.
  KVPAGE_HOST_DEVICE OpStatus Release() {
    const bool repeats = !IsAscending();
    return Run(
        MisusedBy::kRelease, [&](uint32_t i) { return CheckRelease(i, repeats); },
        [&](uint32_t i) {
          return pool_.words().DropBetweenFences(list_.ids[i], 1, Generation(i));
        });
  }

  KVPAGE_HOST_DEVICE OpStatus Share() {
    // Where ids may repeat, every entry may name the same block.
    const int32_t mentions = IsAscending() ? 1 : static_cast<int32_t>(size_);
    return Run(
        MisusedBy::kShare,
        [&](uint32_t i) { return CheckShare(list_.ids[i], Generation(i), mentions); },
        [&](uint32_t i) {
          return Dropped{pool_.words().Share(list_.ids[i], 1, Generation(i)), false};
        });
  }

 private:
  KVPAGE_HOST_DEVICE uint32_t Generation(uint32_t i) const {
    return list_.generations == nullptr ? BlockPoolRef<A>::kAnyGeneration : list_.generations[i];
  }
  KVPAGE_HOST_DEVICE static bool Matches(uint32_t wanted, uint32_t generation) {
    return wanted == BlockPoolRef<A>::kAnyGeneration || wanted == generation;
  }
  KVPAGE_HOST_DEVICE bool IsAscending() const {
    bool ascending = true;
    for (uint32_t i = g_.rank(); i + 1 < size_; i += g_.size()) {
      ascending &= list_.ids[i] < list_.ids[i + 1];
    }
    return !g_.Any(!ascending);
  }
  // Mentions of the same block before place i, stale ones left out.
  KVPAGE_HOST_DEVICE int32_t MentionsBefore(uint32_t i, uint32_t generation) const {
    int32_t mentions = 0;
    for (uint32_t j = 0; j < i; ++j) {
      mentions += list_.ids[j] == list_.ids[i] && Matches(Generation(j), generation);
    }
    return mentions;
  }

  KVPAGE_HOST_DEVICE OpStatus CheckRelease(uint32_t i, bool repeats) const {
    if (!pool_.IsBlock(list_.ids[i])) return OpStatus::kInvalid;
    const BlockState state = pool_.words().State(list_.ids[i]);
    const uint32_t generation = Generation(i);
    if (generation != BlockPoolRef<A>::kAnyGeneration &&
        (!state.owned() || generation != state.generation)) {
      return OpStatus::kStale;
    }
    const int32_t before = repeats ? MentionsBefore(i, state.generation) : 0;
    return state.references > before ? OpStatus::kOk : OpStatus::kDoubleFree;
  }

  KVPAGE_HOST_DEVICE OpStatus CheckShare(BlockId id, uint32_t generation, int32_t mentions) const {
    if (!pool_.IsBlock(id)) return OpStatus::kInvalid;
    const BlockState state = pool_.words().State(id);
    if (!state.owned() || !Matches(generation, state.generation)) return OpStatus::kStale;
    const int32_t most = kMaxReferences - mentions;
    return state.references > most ? OpStatus::kInvalid : OpStatus::kOk;
  }

  // Checks every entry, then changes the good ones, unless the list is all-or-none and has a bad
  // one.
  template <class Check, class Change>
  KVPAGE_HOST_DEVICE OpStatus Run(MisusedBy by, Check check, Change change) const {
    uint64_t failure = kNoFailure;
    for (uint32_t i = g_.rank(); i < size_; i += g_.size()) {
      const OpStatus status = list_.ids[i] == kNullBlock ? OpStatus::kOk : check(i);
      Note(by, i, status, failure);
    }
    failure = g_.Min(failure);
    const bool per_row = list_.failure == FailureMode::kPerRow;
    if (failure != kNoFailure && !per_row) {
      CancelGoodOnes();
      return StatusOf(failure);
    }
    const bool releases = by == MisusedBy::kRelease;
    const uint32_t set = pool_.pending().ChooseSet(g_, releases ? list_.fence : Fence{});
    A::FenceAcqRel();  // F0
    g_.Sync();         // nobody changes a word before all have been checked

    auto w = g_.subgroup();
    FreedBlocks<A, decltype(w)> freed(pool_.gate(), pool_.bits(), pool_.pending(), set, w);
    for (uint32_t base = 0; base < size_; base += g_.size()) {
      const uint32_t i = base + g_.rank();
      const BlockId id = i < size_ ? list_.ids[i] : kNullBlock;
      Dropped result{OpStatus::kOk, false};
      if (id != kNullBlock && (!per_row || list_.statuses[i] == OpStatus::kOk)) {
        result = change(i);
        if (result.status != OpStatus::kOk) Note(by, i, result.status, failure);
      }
      freed.Add(result.last, id);
    }
    freed.Flush();
    return StatusOf(g_.Min(failure));
  }

  // A failure is its place and its status in one number, so that the least is the first.
  static constexpr uint64_t kNoFailure = ~uint64_t{0};
  KVPAGE_HOST_DEVICE void Note(MisusedBy by, uint32_t i, OpStatus status, uint64_t& failure) const {
    if (list_.statuses != nullptr) list_.statuses[i] = status;
    const uint64_t key = uint64_t{i} << 8 | static_cast<uint64_t>(status);
    if (status == OpStatus::kOk) return;
    if (key < failure) failure = key;
    pool_.mirror().Report({.by = by,
                           .status = status,
                           .place = static_cast<int32_t>(i),
                           .block = list_.ids[i],
                           .owner = list_.owner});
  }
  KVPAGE_HOST_DEVICE static OpStatus StatusOf(uint64_t failure) {
    return failure == kNoFailure ? OpStatus::kOk : static_cast<OpStatus>(failure & 0xff);
  }
  KVPAGE_HOST_DEVICE void CancelGoodOnes() const {
    if (list_.statuses == nullptr) return;
    for (uint32_t i = g_.rank(); i < size_; i += g_.size()) {
      if (list_.statuses[i] == OpStatus::kOk) list_.statuses[i] = OpStatus::kCancelled;
    }
  }

  G& g_;
  const BlockPoolRef<A>& pool_;
  const BlockListBatch list_;
  uint32_t size_;
};

}  // namespace kvpage

#endif  // KVPAGE_CORE_BLOCK_LISTS_H_
