// SPDX-License-Identifier: Apache-2.0
//
// The page table's storage, its sequence word, and Slot.

#include <gtest/gtest.h>

#include <vector>

#include "kvpage/core/cpu_atomics.h"
#include "kvpage/core/page_table_ref.h"

namespace kvpage {
namespace {

TEST(PageTableStorage, SaysWhichOptionsAllowATable) {
  const PageTableOptions good = {.max_sequences = 4, .max_blocks_per_sequence = 8};
  EXPECT_TRUE(PageTableStorage::IsValid(good));
  PageTableOptions bad = good;
  bad.max_sequences = 0;
  EXPECT_FALSE(PageTableStorage::IsValid(bad));
  bad.max_sequences = (1 << 24) + 1;
  EXPECT_FALSE(PageTableStorage::IsValid(bad));
  bad = good;
  bad.max_blocks_per_sequence = 0;
  EXPECT_FALSE(PageTableStorage::IsValid(bad));
  bad = good;
  bad.block_tokens = 0;
  EXPECT_FALSE(PageTableStorage::IsValid(bad));
  bad = {.max_sequences = 1, .max_blocks_per_sequence = 1u << 27, .block_tokens = 16};
  EXPECT_FALSE(PageTableStorage::IsValid(bad));  // 2^31 tokens
  --bad.max_blocks_per_sequence;
  EXPECT_TRUE(PageTableStorage::IsValid(bad));
}

TEST(SequenceState, SurvivesItsWord) {
  for (const SequenceState state :
       {SequenceState{0, 0, false}, SequenceState{0x7fffffff, 0, true},
        SequenceState{5, SequenceState::kGenerationMask, false}, SequenceState{1, 77, true}}) {
    const SequenceState again = SequenceState::Parse(state.Word());
    EXPECT_EQ(again.kv_len, state.kv_len);
    EXPECT_EQ(again.generation, state.generation);
    EXPECT_EQ(again.open, state.open);
  }
  // The generation wraps without touching its neighbours.
  const SequenceState wrapped =
      SequenceState::Parse(SequenceState{3, SequenceState::kGenerationMask + 1, false}.Word());
  EXPECT_EQ(wrapped.generation, 0u);
  EXPECT_EQ(wrapped.kv_len, 3);
  EXPECT_FALSE(wrapped.open);
}

class PageTable : public testing::TestWithParam<Placement> {
 protected:
  PageTable() : memory_(PageTableStorage::RequiredBytes(Options()) / 8 + 32, ~uint64_t{0}) {
    const uintptr_t at = reinterpret_cast<uintptr_t>(memory_.data());
    Carver carver(reinterpret_cast<void*>(RoundUp(at, Carver::kAlignment)));
    storage_ = PageTableStorage::Carve(carver, Options());
    for (uint64_t worker : {1, 2, 0}) ref().Init(worker, 3);
  }
  static PageTableOptions Options() {
    return {.max_sequences = 100,
            .max_blocks_per_sequence = 5,
            .block_tokens = 4,
            .sequence_words = GetParam()};
  }
  PageTableRef<CpuAtomics> ref() const { return PageTableRef<CpuAtomics>(storage_); }

  std::vector<uint64_t> memory_;
  PageTableStorage storage_;
};

TEST_P(PageTable, InitMakesEveryRowClosedAndEmpty) {
  for (uint32_t row = 0; row < 100; ++row) {
    EXPECT_EQ(ref().Sequence(row).Word(), 0u);
    EXPECT_EQ(storage_.held_blocks[row], 0u);
    EXPECT_EQ(storage_.claims[row], PageTableRef<CpuAtomics>::kUnclaimed);
    for (uint32_t i = 0; i < 5; ++i) EXPECT_EQ(ref().Entry(row, i), kNullBlock);
  }
}

TEST_P(PageTable, RowsDoNotShareTheirWords) {
  for (uint32_t row = 0; row < 100; ++row) {
    ref().Publish(row, {static_cast<int32_t>(row), row, true});
    for (uint32_t i = 0; i < 5; ++i) ref().SetEntry(row, i, row * 5 + i);
  }
  for (uint32_t row = 0; row < 100; ++row) {
    EXPECT_EQ(ref().Sequence(row).kv_len, static_cast<int32_t>(row));
    for (uint32_t i = 0; i < 5; ++i) EXPECT_EQ(ref().Entry(row, i), row * 5 + i);
  }
}

TEST_P(PageTable, SlotIsBlockTimesTokensPlusOffset) {
  ref().SetEntry(7, 0, 9);
  ref().SetEntry(7, 1, 1u << 30);  // the largest id: its slots need 64 bits
  ref().SetEntry(7, 2, 4);
  ref().Publish(7, {9, 0, true});
  EXPECT_EQ(ref().Slot(7, 0), 36);
  EXPECT_EQ(ref().Slot(7, 3), 39);
  EXPECT_EQ(ref().Slot(7, 4), int64_t{1} << 32);
  EXPECT_EQ(ref().Slot(7, 8), 16);
}

TEST_P(PageTable, SlotOutsideTheTokensIsMinusOne) {
  ref().SetEntry(7, 0, 9);
  ref().Publish(7, {3, 0, true});
  EXPECT_EQ(ref().Slot(7, 2), 38);
  EXPECT_EQ(ref().Slot(7, 3), -1);
  EXPECT_EQ(ref().Slot(7, -1), -1);
  EXPECT_EQ(ref().Slot(7, int64_t{1} << 40), -1);
  EXPECT_EQ(ref().Slot(8, 0), -1);
}

INSTANTIATE_TEST_SUITE_P(Placements, PageTable,
                         testing::Values(Placement::kContiguous, Placement::kInterleaved));

}  // namespace
}  // namespace kvpage
