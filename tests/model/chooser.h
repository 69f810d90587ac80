// SPDX-License-Identifier: Apache-2.0
//
// tests/model/chooser.h
//
// What those who choose random operations have in common: rows that suit the state of the model,
// numbers for them, and settings; mostly sensible ones, and some of every kind of mistake.

#ifndef KVPAGE_TESTS_MODEL_CHOOSER_H_
#define KVPAGE_TESTS_MODEL_CHOOSER_H_

#include <algorithm>
#include <optional>

#include "tests/model/cache_model.h"
#include "tests/support/random.h"

namespace kvpage::test {

class Chooser {
 protected:
  Chooser(Random& random, const CacheModel& model) : random_(random), model_(model) {}

  static constexpr int32_t kWrongRows[] = {-1, 1 << 20, static_cast<int32_t>(0x80000000)};

  int32_t AnyRow() { return static_cast<int32_t>(random_.Below(model_.options().max_sequences)); }
  // A row that is of the kind in `percent` of 100 cases, if there is one.
  int32_t Prefer(bool (*is_kind)(const CacheModel::Row&), uint32_t percent) {
    const bool wanted = random_.Percent(percent);
    int32_t row = AnyRow();
    for (int tries = 0; tries < 8 && is_kind(model_.row(row)) != wanted; ++tries) row = AnyRow();
    return row;
  }
  static bool IsOpen(const CacheModel::Row& row) { return row.is_open; }
  static bool IsDrafting(const CacheModel::Row& row) { return row.draft.has_value(); }
  static bool IsReady(const CacheModel::Row& row) { return row.is_open && !row.draft; }

  // Different rows, with a mistake now and then. They are kept for MapRows.
  Rows ChooseRows(bool (*is_kind)(const CacheModel::Row&), uint32_t percent) {
    const uint32_t most = model_.options().max_sequences;
    const uint32_t size = random_.Percent(10) ? most : random_.Between(1, std::min(most, 5u));
    rows_.clear();
    while (rows_.size() < size) {
      int32_t row = Prefer(is_kind, percent);
      const bool is_mistake = random_.Percent(3);
      if (is_mistake && random_.Percent(50)) row = kWrongRows[random_.Below(3)];
      if (is_mistake || std::find(rows_.begin(), rows_.end(), row) == rows_.end() ||
          random_.Percent(5)) {
        rows_.push_back(row);
      }
    }
    return rows_;
  }

  // One number for each chosen row; wrong ones now and then.
  template <class Number>
  Tokens MapRows(Number number) {
    Tokens tokens;
    for (const int32_t row : rows_) {
      const bool in_table = row >= 0 && row < static_cast<int32_t>(model_.options().max_sequences);
      tokens.push_back(number(model_.row(in_table ? row : 0)));
      if (random_.Percent(2)) tokens.back() = random_.Percent(50) ? -1 : 0x7fffffff;
    }
    return tokens;
  }
  int32_t BlockTokens() const { return static_cast<int32_t>(model_.options().block_tokens); }
  int32_t RowTokens() const {
    return BlockTokens() * static_cast<int32_t>(model_.options().max_blocks_per_sequence);
  }
  int32_t UpTo(int32_t most) { return static_cast<int32_t>(random_.Below(most + 1)); }
  std::optional<int32_t> Count(size_t size) {
    if (random_.Percent(80)) return std::nullopt;
    return static_cast<int32_t>(random_.Below(static_cast<uint32_t>(size) + 3)) - 1;
  }
  RowSettings Settings() {
    return {.failure = random_.Percent(25) ? FailureMode::kWholeBatch : FailureMode::kPerRow,
            .count = Count(rows_.size()),
            .slot_capacity = {},
            .with_copies = random_.Percent(85),
            .fence = AnyFence(),
            .fence_in_memory = model_.options().pending_sets > 0 && random_.Percent(20)};
  }
  // Room for most of the slots, or for all of them and more; often no array.
  std::optional<int64_t> SlotCapacity(int64_t slots) {
    if (random_.Percent(40)) return std::nullopt;
    return random_.Percent(20) ? random_.Below(static_cast<uint32_t>(slots) + 1) : slots + 2;
  }
  // None, one of several epochs that are in flight, or one that has completed.
  uint64_t AnyFence() {
    if (model_.options().pending_sets == 0 || random_.Percent(40)) return 0;
    return model_.pending().completed() + random_.Below(7);
  }

  Random& random_;
  const CacheModel& model_;
  Rows rows_;
};

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_MODEL_CHOOSER_H_
