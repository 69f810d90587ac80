// SPDX-License-Identifier: Apache-2.0
//
// kvpage/core/block_words.h
//
// One 32-bit word per block: how many references it has, and which of its lives this is.
//
//   bits 31..12  references, signed: a misused word goes below zero and comes back, and no other
//                field is harmed
//   bits 11..0   generation: odd while the block is owned, even while it is free
//
// References have room for 2^19 above and below: kMaxReferences, and every lane of a large GPU
// adding or taking one away at the same instant before it looks at the answer.
//
// Every holder of a block has at least one reference. Misuse is answered at the faulty call and
// changes nothing: releasing what nobody holds is kDoubleFree, using a handle of an earlier life is
// kStale. With a handle the answer is exact, whatever others do at the same instant. With an id
// alone the caller vouches for holding a reference: giving back one that belongs to another holder
// cannot be told from a good release.
//
// Thread safety: everything may be called at any time by any thread.
// Memory ordering: a release orders the holder's accesses before the count it lowers; whoever
//   lowers it to none executes FenceAcqRel (F1) before it makes the block findable. Own is followed
//   by F2. See docs/design.md, "Block words".
// Cost: Own: 1 fetch-and-add. By id, Share: 1 load, 1 add; Drop: 1 load and 1 compare-and-swap for
//   the only holder, 1 load, 1 fence and 1 fetch-and-add for one of several. By handle: 1 load and
//   1 compare-and-swap, again for each time that somebody else changed the word meanwhile.

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
  // In place of a generation: whatever life the block is in.
  static constexpr uint32_t kAnyGeneration = ~uint32_t{0};

  KVPAGE_HOST_DEVICE explicit BlockWordsRef(const BlockWordsStorage& storage) : s_(storage) {}

  KVPAGE_HOST_DEVICE void Init(BlockId id) const { A::StoreRelaxed(Word(id), uint32_t{0}); }

  KVPAGE_HOST_DEVICE BlockState State(BlockId id) const { return Parse(A::LoadRelaxed(Word(id))); }

  // The first reference, by the thread that just claimed the block's free bit. The old value is not
  // used, but must be read: F2 then acquires what earlier holders did before they lowered the count
  // (a RED reads nothing that a fence could acquire).
  KVPAGE_HOST_DEVICE void Own(BlockId id) const { A::FetchAddRelaxed(Word(id), kOne + 1); }

  // Adds n references. The caller holds one, or passes the generation that it believes in: then the
  // answer is kStale if that life is over. kInvalid: more references than a word can count.
  KVPAGE_HOST_DEVICE OpStatus Share(BlockId id, uint32_t n, uint32_t generation) const {
    uint32_t word = A::LoadRelaxed(Word(id));
    do {
      const BlockState seen = Parse(word);
      if (!Alive(seen, generation)) return OpStatus::kStale;
      if (seen.references + static_cast<int64_t>(n) > kMaxReferences) return OpStatus::kInvalid;
      if (generation == kAnyGeneration) {
        // The caller's own reference keeps the block alive: no need to look again.
        A::AddRelaxed(Word(id), n * kOne);
        return OpStatus::kOk;
      }
      // An addition could land in a life that ends, or has begun, since the look.
    } while (!A::CompareExchangeRelaxed(Word(id), word, word + n * kOne));
    return OpStatus::kOk;
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
      const bool last = seen.references == static_cast<int32_t>(n);
      if (!last) {
        A::FenceAcqRel();  // F0: this holder's accesses come before the count it lowers
        if (generation == kAnyGeneration) break;
      }
      const uint32_t lower = word - n * kOne + (last ? LifeEnd(seen.generation) : 0);
      if (A::CompareExchangeRelaxed(Word(id), word, lower)) return {OpStatus::kOk, last};
    }
    // One of several holders: an addition, because many may let go at once.
    const BlockState old = Parse(A::FetchAddRelaxed(Word(id), uint32_t{0} - n * kOne));
    if (old.references > static_cast<int32_t>(n)) return {OpStatus::kOk, false};
    if (old.references == static_cast<int32_t>(n) && old.owned()) {
      A::AddRelaxed(Word(id), LifeEnd(old.generation));
      return {OpStatus::kOk, true};
    }
    A::AddRelaxed(Word(id), n * kOne);  // outrun by somebody who gave back what was not theirs
    return {OpStatus::kDoubleFree, false};
  }

 private:
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
  BlockWordsStorage s_;
};

}  // namespace kvpage

#endif  // KVPAGE_CORE_BLOCK_WORDS_H_
