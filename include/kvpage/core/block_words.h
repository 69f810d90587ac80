// SPDX-License-Identifier: Apache-2.0
//
// kvpage/core/block_words.h
//
// One 32-bit word per block: how many references it has, and which of its lives this is.
//
//   bits 31..20  generation: one more for each life, round a circle
//   bits 19..0   references, counted from 2^19 up: a misused word goes below that and comes back,
//                and the generation is not harmed
//
// A block is owned while it has references. They have room for 2^19 above and below:
// kMaxReferences, and every lane of a large GPU adding or taking one away at the same instant
// before it looks at the answer.
//
// Every holder of a block has at least one reference. Misuse is answered at the faulty call and
// changes nothing: releasing what nobody holds is kDoubleFree, using a handle of an earlier life is
// kStale. With a handle the answer is exact, whatever others do at the same instant. With an id
// alone the caller vouches for holding a reference: giving back one that belongs to another holder
// cannot be told from a good release.
//
// Thread safety: everything may be called at any time by any thread.
// Memory ordering: the word carries a block from its last holders to its next owner: each Drop
//   stands behind a fence F0 of its holder, and Own, which reads the word, before the fence F2 of
//   the new owner. See docs/design.md, "Block words".
// Cost: Own: 1 fetch-and-add. By id, Share: 1 load, 1 add; Drop: 1 load, 1 fence, 1 fetch-and-add.
//   By handle, and by id for the only holder: a compare-and-swap in place of the addition, again
//   for each time that somebody else changed the word meanwhile.

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
  int32_t references = 0;
  uint32_t generation = 0;

  KVPAGE_HOST_DEVICE static BlockState Parse(uint32_t word) {
    return {static_cast<int32_t>(word & kReferenceMask) - kNoReferences, word >> kReferenceBits};
  }
  KVPAGE_HOST_DEVICE uint32_t Word() const {
    return generation << kReferenceBits |
           (static_cast<uint32_t>(references + kNoReferences) & kReferenceMask);
  }
  KVPAGE_HOST_DEVICE bool owned() const { return references > 0; }

  static constexpr uint32_t kReferenceBits = 32 - kGenerationBits;
  static constexpr uint32_t kReferenceMask = (1u << kReferenceBits) - 1;
  static constexpr int32_t kNoReferences = 1 << (kReferenceBits - 1);
};

// What became of a block: `last` tells the caller to make it free.
struct Dropped {
  OpStatus status = OpStatus::kOk;
  bool last = false;
  bool changed = false;  // somebody else has changed the word since it was looked at
};

template <Atomics A>
class BlockWordsRef {
 public:
  // In place of a generation: whatever life the block is in.
  static constexpr uint32_t kAnyGeneration = ~uint32_t{0};

  KVPAGE_HOST_DEVICE explicit BlockWordsRef(const BlockWordsStorage& storage) : s_(storage) {}

  KVPAGE_HOST_DEVICE void Init(BlockId id) const { A::StoreRelaxed(Word(id), BlockState{}.Word()); }

  KVPAGE_HOST_DEVICE BlockState State(BlockId id) const {
    return BlockState::Parse(A::LoadRelaxed(Word(id)));
  }

  // A new life and its first reference, by the thread that just claimed the block's free bit. The
  // old value is not used, but must be read: F2 then acquires what earlier holders did before they
  // lowered the count (a RED reads nothing that a fence could acquire).
  KVPAGE_HOST_DEVICE void Own(BlockId id) const { A::FetchAddRelaxed(Word(id), kLife + 1); }

  // Adds n references. The caller holds one, or passes the generation that it believes in: then the
  // answer is kStale if that life is over. kInvalid: more references than a word can count.
  KVPAGE_HOST_DEVICE OpStatus Share(BlockId id, uint32_t n, uint32_t generation) const {
    uint32_t word = A::LoadRelaxed(Word(id));
    do {
      const BlockState seen = BlockState::Parse(word);
      if (!seen.owned() || !Matches(seen, generation)) return OpStatus::kStale;
      if (seen.references + static_cast<int64_t>(n) > kMaxReferences) return OpStatus::kInvalid;
      if (generation == kAnyGeneration) {
        // The caller's own reference keeps the block alive: no need to look again.
        A::AddRelaxed(Word(id), n);
        return OpStatus::kOk;
      }
      // An addition could land in a life that ends, or has begun, since the look.
    } while (!A::CompareExchangeRelaxed(Word(id), word, word + n));
    return OpStatus::kOk;
  }

  // The same where the look has been: the block has an owner who keeps it meanwhile, and too many
  // references have been ruled out.
  KVPAGE_HOST_DEVICE void ShareHeld(BlockId id, uint32_t n) const { A::AddRelaxed(Word(id), n); }

  // Takes n references away. If they were the last ones, the block's life has ended and the caller
  // makes it free.
  KVPAGE_HOST_DEVICE Dropped Drop(BlockId id, uint32_t n, uint32_t generation) const {
    return Drop(id, n, generation, A::LoadRelaxed(Word(id)), true);
  }

  // The same for many blocks: the caller has executed F0 (FenceAcqRel) since it used them, and
  // executes F1 (FenceAcqRel) before it makes any of them free.
  KVPAGE_HOST_DEVICE Dropped DropBetweenFences(BlockId id, uint32_t n, uint32_t generation) const {
    return Drop(id, n, generation, A::LoadRelaxed(Word(id)), false);
  }
  // The same in two parts, with other work between: the look, and the drop of whatever life.
  KVPAGE_HOST_DEVICE uint32_t Look(BlockId id) const { return A::LoadRelaxed(Word(id)); }
  KVPAGE_HOST_DEVICE Dropped DropLookedAt(BlockId id, uint32_t n, uint32_t look) const {
    return Drop(id, n, kAnyGeneration, look, false);
  }

 private:
  static constexpr uint32_t kLife = 1u << BlockState::kReferenceBits;

  // `word`: as it was seen.
  KVPAGE_HOST_DEVICE Dropped Drop(BlockId id, uint32_t n, uint32_t generation, uint32_t word,
                                  bool fences) const {
    const int32_t count = static_cast<int32_t>(n);
    const uint32_t fenced_word = word;
    // F0: this holder's accesses come before the count it lowers; and what holders did who let go
    // before this look is acquired.
    if (fences) A::FenceAcqRel();
    for (;;) {
      const BlockState seen = BlockState::Parse(word);
      if (generation != kAnyGeneration && (!seen.owned() || !Matches(seen, generation))) {
        return {OpStatus::kStale, false};
      }
      if (seen.references < count) return {OpStatus::kDoubleFree, false};
      if (generation == kAnyGeneration && seen.references > count) {
        // One of several holders: an addition, because many may let go at once.
        word = A::FetchAddRelaxed(Word(id), uint32_t{0} - n);
        break;
      }
      if (A::CompareExchangeRelaxed(Word(id), word, word - n)) break;
    }
    const int32_t references = BlockState::Parse(word).references;
    if (references < count) {
      A::AddRelaxed(Word(id), n);  // outrun by somebody who gave back what was not theirs
      return {OpStatus::kDoubleFree, false};
    }
    const bool last = references == count;
    // F1: others let go since.
    if (last && fences && word != fenced_word) A::FenceAcqRel();
    return {OpStatus::kOk, last, word != fenced_word};
  }

  KVPAGE_HOST_DEVICE uint32_t* Word(BlockId id) const { return &s_.words[s_.layout.Index(id - 1)]; }
  KVPAGE_HOST_DEVICE static bool Matches(const BlockState& state, uint32_t generation) {
    return generation == kAnyGeneration || generation == state.generation;
  }

  BlockWordsStorage s_;
};

}  // namespace kvpage

#endif  // KVPAGE_CORE_BLOCK_WORDS_H_
