// SPDX-License-Identifier: Apache-2.0
//
// kvpage/core/block_words.h
//
// One 32-bit word per block: how many references it has, and which of its lives this is.
//
//   bits 31..14  references, signed: a misused word goes below zero and comes back, harming no
//   field bits 13..0   generation: odd while the block is owned, even while it is free
//
// Every holder of a block has at least one reference. Misuse is answered at the faulty call and
// changes nothing: releasing what nobody holds is kDoubleFree, using a handle of an earlier life is
// kStale. Where two threads misuse the same block at the same instant, one of them may be told
// instead of the other; no block is ever handed out twice or lost because of it.
//
// Thread safety: everything may be called at any time by any thread.
// Memory ordering: a release orders the holder's accesses before the count it lowers; whoever
// lowers
//   it to none executes FenceAcqRel (F1) before it makes the block findable. See docs/design.md,
//   "Block words".
// Cost: Own: 1 add. Share: 1 load, 1 fetch-and-add. Drop: 1 load and 1 compare-and-swap for the
// only
//   holder; 1 load, 1 fence and 1 fetch-and-add for one of several. No loop that many threads
//   share: the compare-and-swap is tried only by a holder that saw no other.

#ifndef KVPAGE_CORE_BLOCK_WORDS_H_
#define KVPAGE_CORE_BLOCK_WORDS_H_

#include <cstdint>

#include "kvpage/core/atomics.h"
#include "kvpage/core/layout.h"
#include "kvpage/core/op_status.h"
#include "kvpage/core/types.h"

namespace kvpage {

struct BlockWordsStorage {
  uint32_t* words = nullptr;  // [layout.size()], id i at layout.Index(i - 1)
  WordLayout layout;
};

// A block's word, taken apart.
struct BlockState {
  int32_t references;
  uint32_t generation;

  KVPAGE_HOST_DEVICE bool owned() const { return (generation & 1) != 0; }
};

// What became of a block: `last` tells the caller to make it free.
struct Dropped {
  OpStatus status;
  bool last;
};

template <Atomics A>
class BlockWordsRef {
 public:
  static constexpr int32_t kMaxReferences = (1 << 17) - 1;
  // In place of a generation: whatever life the block is in.
  static constexpr uint32_t kAnyGeneration = ~uint32_t{0};

  KVPAGE_HOST_DEVICE explicit BlockWordsRef(const BlockWordsStorage& storage) : s_(storage) {}

  KVPAGE_HOST_DEVICE void Init(BlockId id) const { A::StoreRelaxed(Word(id), uint32_t{0}); }

  KVPAGE_HOST_DEVICE BlockState State(BlockId id) const { return Parse(A::LoadRelaxed(Word(id))); }

  // The first reference, by the thread that just claimed the block's free bit; F2 comes after it.
  KVPAGE_HOST_DEVICE void Own(BlockId id) const { A::AddRelaxed(Word(id), kOne + 1); }

  // Adds n references. The caller holds one, or passes the generation that it believes in: then the
  // answer is kStale if that life is over. kInvalid: more references than a word can count.
  KVPAGE_HOST_DEVICE Dropped Share(BlockId id, uint32_t n, uint32_t generation) const {
    const BlockState seen = Parse(A::LoadRelaxed(Word(id)));
    if (!Alive(seen, generation)) return {OpStatus::kStale, false};
    if (n > static_cast<uint32_t>(kMaxReferences - seen.references)) {
      return {OpStatus::kInvalid, false};
    }
    const BlockState old = Parse(A::FetchAddRelaxed(Word(id), n * kOne));
    const bool alive = Alive(old, generation);
    if (alive && old.references + static_cast<int32_t>(n) <= kMaxReferences) {
      return {OpStatus::kOk, false};
    }
    // The last holder let go, or too many others came, after the load above: take the n back. If
    // they turn out to be the last references of a life, the block is ours to free: of the life
    // that we came into if it had a holder (it may be a later one than the caller believes in),
    // else of one that began while we were here.
    const bool joined = old.owned() && old.references > 0;
    const BlockState now = Parse(A::FetchAddRelaxed(Word(id), uint32_t{0} - n * kOne));
    const bool last = now.owned() && now.references == static_cast<int32_t>(n) &&
                      (joined || now.generation != old.generation);
    if (last) EndLife(id, now.generation);
    return {alive ? OpStatus::kInvalid : OpStatus::kStale, last};
  }

  // Takes n references away. If they were the last ones, the block's life has ended and the caller
  // makes it free.
  KVPAGE_HOST_DEVICE Dropped Drop(BlockId id, uint32_t n, uint32_t generation) const {
    uint32_t word = A::LoadRelaxed(Word(id));
    for (;;) {
      const BlockState seen = Parse(word);
      if (!Matches(seen, generation)) return {OpStatus::kStale, false};
      if (!seen.owned() || seen.references < static_cast<int32_t>(n)) {
        return {OpStatus::kDoubleFree, false};
      }
      if (seen.references > static_cast<int32_t>(n)) break;
      const uint32_t freed = word - n * kOne + LifeEnd(seen.generation);
      if (A::CompareExchangeRelaxed(Word(id), word, freed)) return {OpStatus::kOk, true};
    }
    A::FenceAcqRel();  // F0: this holder's accesses come before the count it lowers
    const BlockState old = Parse(A::FetchAddRelaxed(Word(id), uint32_t{0} - n * kOne));
    if (old.references > static_cast<int32_t>(n)) return {OpStatus::kOk, false};
    if (old.references == static_cast<int32_t>(n) && old.owned()) {
      EndLife(id, old.generation);
      return {OpStatus::kOk, true};
    }
    A::AddRelaxed(Word(id), n * kOne);  // raced with another thread's misuse
    return {OpStatus::kDoubleFree, false};
  }

 private:
  static constexpr uint32_t kGenerationBits = 14;
  static constexpr uint32_t kGenerationMask = (1u << kGenerationBits) - 1;
  static constexpr uint32_t kOne = 1u << kGenerationBits;

  KVPAGE_HOST_DEVICE uint32_t* Word(BlockId id) const { return &s_.words[s_.layout.Index(id - 1)]; }
  KVPAGE_HOST_DEVICE static BlockState Parse(uint32_t word) {
    return {static_cast<int32_t>(word) >> kGenerationBits, word & kGenerationMask};
  }
  KVPAGE_HOST_DEVICE static bool Matches(const BlockState& state, uint32_t generation) {
    return generation == kAnyGeneration || generation == state.generation;
  }
  KVPAGE_HOST_DEVICE static bool Alive(const BlockState& state, uint32_t generation) {
    return state.owned() && state.references > 0 && Matches(state, generation);
  }
  // What to add to a word whose life ends: the next generation, without a carry into the count.
  KVPAGE_HOST_DEVICE static uint32_t LifeEnd(uint32_t generation) {
    return generation == kGenerationMask ? uint32_t{0} - kGenerationMask : 1;
  }
  KVPAGE_HOST_DEVICE void EndLife(BlockId id, uint32_t generation) const {
    A::AddRelaxed(Word(id), LifeEnd(generation));
  }

  BlockWordsStorage s_;
};

}  // namespace kvpage

#endif  // KVPAGE_CORE_BLOCK_WORDS_H_
