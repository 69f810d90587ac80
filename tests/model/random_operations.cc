// SPDX-License-Identifier: Apache-2.0

#include "tests/model/random_operations.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "tests/model/chooser.h"
#include "tests/model/random_drafts.h"

namespace kvpage::test {
namespace {

class OperationChooser : Chooser {
 public:
  OperationChooser(Random& random, const CacheModel& model) : Chooser(random, model) {}

  Operation Choose() {
    const uint32_t choice = random_.Below(100);
    if (choice < 12)
      return ReserveOperation{ChooseRows(IsOpen, 25), MapRowsBy(&OperationChooser::Capacity),
                              Settings()};
    if (choice < 45) return ChooseAppend();
    if (choice < 57)
      return TruncateOperation{ChooseRows(IsReady, 85), MapRowsBy(&OperationChooser::Length),
                               Settings()};
    if (choice < 70) return CloseOperation{ChooseRows(IsOpen, 80), Settings()};
    if (choice < 84) return ChooseFork();
    if (choice < 92) return ChooseShare();
    return ChooseRelease();
  }

 private:
  // Numbers for rows.
  int32_t Capacity(const CacheModel::Row& row) {
    return row.kv_len + UpTo(random_.Percent(80) ? 3 * BlockTokens() : RowTokens());
  }
  int32_t Length(const CacheModel::Row& row) { return UpTo(row.kv_len + BlockTokens()); }
  int32_t More(const CacheModel::Row&) {
    return UpTo(random_.Percent(50) ? 2 : random_.Percent(90) ? 3 * BlockTokens() : RowTokens());
  }
  Tokens MapRowsBy(int32_t (OperationChooser::*number)(const CacheModel::Row&)) {
    return MapRows([&](const CacheModel::Row& row) { return (this->*number)(row); });
  }

  Operation ChooseAppend() {
    AppendOperation append{ChooseRows(IsReady, 65), MapRowsBy(&OperationChooser::More), Settings()};
    int64_t slots = 0;
    for (const int32_t tokens : append.tokens) slots += std::clamp(tokens, 0, 1000);
    append.settings.slot_capacity = SlotCapacity(slots);
    return append;
  }

  Operation ChooseFork() {
    ForkOperation fork{ChooseRows(IsOpen, 10), {}, {}, {}};
    for (size_t i = 0; i < fork.rows.size(); ++i) {
      const int32_t parent = Prefer(IsOpen, 95);
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
    if (const BlockId id = 1 + random_.Below(model_.options().num_blocks);
        model_.block(id).references == 0) {
      return id;  // free, or pending
    }
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
    ListSettings settings = ChooseListSettings(ids);
    settings.fence = AnyFence();
    return ReleaseOperation{std::move(ids), settings};
  }
};

Placement AnyPlacement(Random& random) {
  return random.Percent(50) ? Placement::kInterleaved : Placement::kContiguous;
}

}  // namespace

KvCacheOptions RandomOptions(uint64_t seed) {
  Random random(~seed);
  constexpr uint32_t kBlocks[] = {5, 40, 64, 130, 200};
  constexpr uint32_t kBlockTokens[] = {1, 4, 16};
  constexpr uint32_t kPendingSets[] = {0, 2, 2, 3, 4};
  return {.num_blocks = kBlocks[random.Below(5)],
          .block_tokens = kBlockTokens[random.Below(3)],
          .max_sequences = random.Between(1, 12),
          .max_blocks_per_sequence = random.Between(1, 40),
          .blocks_per_shard = random.Percent(70) ? 64u : 0u,
          .block_words = AnyPlacement(random),
          .gate_words = AnyPlacement(random),
          .sequence_words = AnyPlacement(random),
          .pending_sets = kPendingSets[random.Below(5)],
          .max_draft_tokens = random.Percent(15) ? 0u : random.Between(1, 20),
          .max_draft_branches = random.Percent(40) ? 1u : random.Between(1, kMaxDraftBranches)};
}

KvCacheOptions LargeOptions(uint64_t seed) {
  Random random(~seed);
  return {.num_blocks = random.Between(8000, 40000),
          .block_tokens = 4,
          .max_sequences = random.Between(1500, 3000),
          .max_blocks_per_sequence = 20,
          .block_words = AnyPlacement(random),
          .gate_words = AnyPlacement(random),
          .sequence_words = AnyPlacement(random),
          .max_draft_tokens = 5,
          .max_draft_branches = 2};
}

Operation RandomOperation(Random& random, const CacheModel& model) {
  const KvCacheOptions& options = model.options();
  if (options.pending_sets > 0 && random.Percent(8)) return RandomSignal(random, model);
  if (options.max_draft_tokens > 0 && random.Percent(50)) return RandomDraft(random, model);
  return OperationChooser(random, model).Choose();
}

}  // namespace kvpage::test
