// SPDX-License-Identifier: Apache-2.0

#include "tests/model/random_operations.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace kvpage::test {
namespace {

class Chooser {
 public:
  Chooser(Random& random, const CacheModel& model) : random_(random), model_(model) {}

  Operation Choose() {
    const uint32_t choice = random_.Below(100);
    if (choice < 12)
      return ReserveOperation{ChooseRows(25), MapRows(&Chooser::Capacity), Settings()};
    if (choice < 45) return ChooseAppend();
    if (choice < 57)
      return TruncateOperation{ChooseRows(85), MapRows(&Chooser::Length), Settings()};
    if (choice < 70) return CloseOperation{ChooseRows(80), Settings()};
    if (choice < 84) return ChooseFork();
    if (choice < 92) return ChooseShare();
    return ChooseRelease();
  }

 private:
  static constexpr int32_t kWrongRows[] = {-1, 1 << 20, static_cast<int32_t>(0x80000000)};

  int32_t AnyRow() { return static_cast<int32_t>(random_.Below(model_.options().max_sequences)); }
  // A row that is open in `percent` of 100 cases, if there is one.
  int32_t PreferOpen(uint32_t percent) {
    const bool wants_open = random_.Percent(percent);
    int32_t row = AnyRow();
    for (int tries = 0; tries < 8 && model_.row(row).is_open != wants_open; ++tries) row = AnyRow();
    return row;
  }

  // Different rows, with a mistake now and then. They are kept for MapRows.
  Rows ChooseRows(uint32_t percent_open) {
    const uint32_t most = model_.options().max_sequences;
    const uint32_t size = random_.Percent(10) ? most : random_.Between(1, std::min(most, 5u));
    rows_.clear();
    while (rows_.size() < size) {
      int32_t row = PreferOpen(percent_open);
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
  Tokens MapRows(int32_t (Chooser::*number)(const CacheModel::Row&)) {
    Tokens tokens;
    for (const int32_t row : rows_) {
      const bool in_table = row >= 0 && row < static_cast<int32_t>(model_.options().max_sequences);
      tokens.push_back((this->*number)(model_.row(in_table ? row : 0)));
      if (random_.Percent(2)) tokens.back() = random_.Percent(50) ? -1 : 0x7fffffff;
    }
    return tokens;
  }
  int32_t BlockTokens() const { return static_cast<int32_t>(model_.options().block_tokens); }
  int32_t RowTokens() const {
    return BlockTokens() * static_cast<int32_t>(model_.options().max_blocks_per_sequence);
  }
  int32_t UpTo(int32_t most) { return static_cast<int32_t>(random_.Below(most + 1)); }
  int32_t Capacity(const CacheModel::Row& row) {
    return row.kv_len + UpTo(random_.Percent(80) ? 3 * BlockTokens() : RowTokens());
  }
  int32_t Length(const CacheModel::Row& row) { return UpTo(row.kv_len + BlockTokens()); }
  int32_t More(const CacheModel::Row&) {
    return UpTo(random_.Percent(50) ? 2 : random_.Percent(90) ? 3 * BlockTokens() : RowTokens());
  }

  std::optional<int32_t> Count(size_t size) {
    if (random_.Percent(80)) return std::nullopt;
    return static_cast<int32_t>(random_.Below(static_cast<uint32_t>(size) + 3)) - 1;
  }
  RowSettings Settings() {
    return {.failure = random_.Percent(25) ? FailureMode::kWholeBatch : FailureMode::kPerRow,
            .count = Count(rows_.size()),
            .slot_capacity = {},
            .with_copies = random_.Percent(85)};
  }

  Operation ChooseAppend() {
    AppendOperation append{ChooseRows(60), MapRows(&Chooser::More), Settings()};
    if (random_.Percent(60)) {
      int64_t slots = 0;
      for (const int32_t tokens : append.tokens) slots += std::clamp(tokens, 0, 1000);
      append.settings.slot_capacity = slots + 2;
      if (random_.Percent(20)) append.settings.slot_capacity = random_.Below(slots + 1);
    }
    return append;
  }

  Operation ChooseFork() {
    ForkOperation fork{ChooseRows(10), {}, {}, {}};
    for (size_t i = 0; i < fork.rows.size(); ++i) {
      const int32_t parent = PreferOpen(95);
      fork.parents.push_back(random_.Percent(2) ? kWrongRows[random_.Below(3)] : parent);
      const int32_t length = model_.row(parent).kv_len;
      int32_t tokens = random_.Percent(40) ? length : UpTo(length);
      if (random_.Percent(30)) tokens -= tokens % BlockTokens();
      if (random_.Percent(3)) tokens = random_.Percent(50) ? -1 : length + 1;
      fork.tokens.push_back(tokens);
    }
    fork.settings = Settings();
    return fork;
  }

  void MaybeAddGenerations(const Ids& ids, ListSettings& settings) {
    if (random_.Percent(50)) return;
    settings.generations.emplace();
    for (const BlockId id : ids) {
      const bool is_block = id >= 1 && id <= model_.options().num_blocks;
      uint32_t generation = is_block ? model_.block(id).generation : 1;
      if (random_.Percent(10)) generation = ~0u;  // any
      if (random_.Percent(4)) generation = (generation + 2) % (1 << kGenerationBits);
      settings.generations->push_back(generation);
    }
  }
  ListSettings ChooseListSettings(const Ids& ids) {
    ListSettings settings{
        .failure = random_.Percent(40) ? FailureMode::kPerRow : FailureMode::kWholeBatch,
        .count = Count(ids.size())};
    MaybeAddGenerations(ids, settings);
    return settings;
  }
  // An id that is good for nothing.
  BlockId BadId() {
    if (random_.Percent(30)) return kNullBlock;
    if (random_.Percent(30) || model_.free_ids().empty()) return model_.options().num_blocks + 1;
    return *std::next(model_.free_ids().begin(),
                      random_.Below(static_cast<uint32_t>(model_.free_ids().size())));
  }
  void Shuffle(Ids& ids) {
    for (size_t i = ids.size(); i > 1; --i) {
      std::swap(ids[i - 1], ids[random_.Below(static_cast<uint32_t>(i))]);
    }
  }

  Operation ChooseShare() {
    Ids ids;
    const uint32_t size = random_.Between(1, 6);
    while (ids.size() < size) {
      const BlockId id = 1 + random_.Below(model_.options().num_blocks);
      const bool is_owned = model_.block(id).references > 0;
      if (is_owned && !random_.Percent(4)) {
        ids.push_back(id);
      } else if (random_.Percent(5)) {
        ids.push_back(BadId());
      } else if (model_.free_ids().size() == model_.options().num_blocks) {
        ids.push_back(kNullBlock);  // nothing is owned
      }
    }
    if (random_.Percent(50)) std::sort(ids.begin(), ids.end());
    const ListSettings settings = ChooseListSettings(ids);
    return ShareOperation{std::move(ids), settings};
  }

  Operation ChooseRelease() {
    Ids ids;
    for (const auto& [id, count] : model_.outside()) {
      const int32_t taken = random_.Percent(60) ? UpTo(count) : 0;
      for (int32_t i = 0; i < taken; ++i) ids.push_back(id);
      // More than there are, where no row has one.
      if (model_.block(id).references == count && random_.Percent(4)) {
        while (static_cast<int32_t>(std::count(ids.begin(), ids.end(), id)) <= count) {
          ids.push_back(id);
        }
      }
    }
    if (random_.Percent(20) || ids.empty()) ids.push_back(BadId());
    if (random_.Percent(50)) Shuffle(ids);
    const ListSettings settings = ChooseListSettings(ids);
    return ReleaseOperation{std::move(ids), settings};
  }

  Random& random_;
  const CacheModel& model_;
  Rows rows_;
};

Placement AnyPlacement(Random& random) {
  return random.Percent(50) ? Placement::kInterleaved : Placement::kContiguous;
}

}  // namespace

KvCacheOptions RandomOptions(uint64_t seed) {
  Random random(~seed);
  constexpr uint32_t kBlocks[] = {5, 40, 64, 130, 200};
  constexpr uint32_t kBlockTokens[] = {1, 4, 16};
  return {.num_blocks = kBlocks[random.Below(5)],
          .block_tokens = kBlockTokens[random.Below(3)],
          .max_sequences = random.Between(1, 12),
          .max_blocks_per_sequence = random.Between(1, 40),
          .blocks_per_shard = random.Percent(70) ? 64u : 0u,
          .block_words = AnyPlacement(random),
          .gate_words = AnyPlacement(random),
          .sequence_words = AnyPlacement(random)};
}

KvCacheOptions LargeOptions(uint64_t seed) {
  Random random(~seed);
  return {.num_blocks = random.Between(8000, 40000),
          .block_tokens = 4,
          .max_sequences = random.Between(1500, 3000),
          .max_blocks_per_sequence = 20,
          .block_words = AnyPlacement(random),
          .gate_words = AnyPlacement(random),
          .sequence_words = AnyPlacement(random)};
}

Operation RandomOperation(Random& random, const CacheModel& model) {
  return Chooser(random, model).Choose();
}

}  // namespace kvpage::test
