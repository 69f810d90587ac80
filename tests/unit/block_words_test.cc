// SPDX-License-Identifier: Apache-2.0
//
// One block's word with one thread: counts, lives, and every kind of misuse.

#include "kvpage/core/block_words.h"

#include <gtest/gtest.h>

#include "kvpage/core/cpu_atomics.h"
#include "tests/support/printing.h"

namespace kvpage {
namespace {

using Ref = BlockWordsRef<CpuAtomics>;
using enum OpStatus;

constexpr uint32_t kAny = Ref::kAnyGeneration;

class BlockWords : public testing::Test {
 protected:
  BlockWords() { ref_.Init(1); }

  void ExpectState(int32_t references, uint32_t generation) {
    EXPECT_EQ(ref_.State(1).references, references);
    EXPECT_EQ(ref_.State(1).generation, generation);
  }
  void ExpectDrop(uint32_t n, uint32_t generation, OpStatus status, bool last) {
    const Dropped dropped = ref_.Drop(1, n, generation);
    EXPECT_EQ(dropped.status, status);
    EXPECT_EQ(dropped.last, last);
  }
  void ExpectShare(uint32_t n, uint32_t generation, OpStatus status) {
    EXPECT_EQ(ref_.Share(1, n, generation), status);
  }

  uint32_t word_ = 0xdead;
  Ref ref_{BlockWordsStorage{&word_, WordLayout::Make(1, 4, Placement::kContiguous)}};
};

TEST_F(BlockWords, ALifeFromOwnToTheLastDrop) {
  ExpectState(0, 0);
  EXPECT_FALSE(ref_.State(1).owned());
  ref_.Own(1);
  ExpectState(1, 1);
  EXPECT_TRUE(ref_.State(1).owned());
  ExpectShare(3, kAny, kOk);
  ExpectState(4, 1);
  ExpectDrop(2, kAny, kOk, false);
  ExpectDrop(1, 1, kOk, false);
  ExpectDrop(1, kAny, kOk, true);
  ExpectState(0, 1);
  EXPECT_FALSE(ref_.State(1).owned());
  ref_.Own(1);
  ExpectState(1, 2);
}

TEST_F(BlockWords, SeveralReferencesCanBeTheLast) {
  ref_.Own(1);
  ExpectShare(2, kAny, kOk);
  ExpectDrop(3, kAny, kOk, true);
  ExpectState(0, 1);
}

TEST_F(BlockWords, ManyCanBeDroppedBetweenTwoFences) {
  ref_.Own(1);
  ExpectShare(1, kAny, kOk);
  EXPECT_FALSE(ref_.DropBetweenFences(1, 1, kAny).last);
  EXPECT_TRUE(ref_.DropBetweenFences(1, 1, 1).last);
  EXPECT_EQ(ref_.DropBetweenFences(1, 1, 1).status, kStale);
  EXPECT_EQ(ref_.DropBetweenFences(1, 1, kAny).status, kDoubleFree);
  ExpectState(0, 1);
}

TEST_F(BlockWords, DroppingWhatNobodyHoldsIsDoubleFreeAndChangesNothing) {
  ExpectDrop(1, kAny, kDoubleFree, false);
  ref_.Own(1);
  ExpectDrop(2, kAny, kDoubleFree, false);
  ExpectState(1, 1);
  ExpectDrop(1, kAny, kOk, true);
  ExpectDrop(1, kAny, kDoubleFree, false);
  ExpectState(0, 1);
  ref_.Own(1);
  ExpectDrop(2, 2, kDoubleFree, false);
  ExpectState(1, 2);
}

TEST_F(BlockWords, AHandleOfAnEarlierLifeIsStaleAndChangesNothing) {
  ref_.Own(1);
  ExpectDrop(1, kAny, kOk, true);
  ExpectShare(1, 1, kStale);
  ExpectDrop(1, 1, kStale, false);
  ExpectState(0, 1);
  ref_.Own(1);
  ExpectShare(1, 1, kStale);
  ExpectDrop(1, 1, kStale, false);
  ExpectState(1, 2);
  ExpectShare(1, 2, kOk);
  ExpectDrop(1, 2, kOk, false);
}

TEST_F(BlockWords, SharingAFreeBlockIsStale) {
  ExpectShare(1, kAny, kStale);
  ExpectShare(1, 0, kStale);
  ExpectState(0, 0);
}

TEST_F(BlockWords, MoreReferencesThanFitAreRefused) {
  ref_.Own(1);
  ExpectShare(kMaxReferences - 1, kAny, kOk);
  ExpectState(kMaxReferences, 1);
  ExpectShare(1, kAny, kInvalid);
  ExpectShare(0xffffffff, kAny, kInvalid);
  ExpectState(kMaxReferences, 1);
  ExpectDrop(kMaxReferences, 1, kOk, true);
  ExpectState(0, 1);
}

TEST_F(BlockWords, GenerationsGoRoundWithoutTouchingTheCount) {
  for (uint32_t life = 1; life < (1u << kGenerationBits) + 3; ++life) {
    const uint32_t generation = life % (1 << kGenerationBits);
    ref_.Own(1);
    ASSERT_EQ(ref_.State(1).generation, generation);
    ASSERT_EQ(ref_.State(1).references, 1);
    ExpectDrop(1, generation, kOk, true);
    ASSERT_EQ(ref_.State(1).generation, generation);
    ASSERT_EQ(ref_.State(1).references, 0);
  }
}

TEST_F(BlockWords, AWordIsTakenApartAndPutTogether) {
  for (const int32_t references : {0, 1, kMaxReferences, -3}) {
    for (const uint32_t generation : {0u, 1u, (1u << kGenerationBits) - 1}) {
      const BlockState state = BlockState::Parse(BlockState{references, generation}.Word());
      EXPECT_EQ(state.references, references);
      EXPECT_EQ(state.generation, generation);
    }
  }
}

TEST_F(BlockWords, AHandleIsRecognisedAsStaleUntilTheGenerationHasGoneRound) {
  ref_.Own(1);
  const uint32_t old_life = ref_.State(1).generation;
  for (uint32_t later = 0; later < (1u << kGenerationBits) - 1; ++later) {
    ExpectDrop(1, kAny, kOk, true);
    ExpectShare(1, old_life, kStale);
    ref_.Own(1);
    ASSERT_EQ(ref_.Share(1, 1, old_life), kStale) << later;
  }
  ExpectDrop(1, kAny, kOk, true);
  ref_.Own(1);
  EXPECT_EQ(ref_.State(1).generation, old_life);  // round once
}

}  // namespace
}  // namespace kvpage
