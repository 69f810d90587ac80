// SPDX-License-Identifier: Apache-2.0

#include "tests/model/random_drafts.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "tests/model/chooser.h"

namespace kvpage::test {
namespace {

class DraftChooser : Chooser {
 public:
  DraftChooser(Random& random, const CacheModel& model) : Chooser(random, model) {}

  Operation Choose() {
    const uint32_t choice = random_.Below(100);
    if (choice < 48) return ChooseBegin();
    if (choice < 82) return ChooseCommit();
    if (choice < 88) return AbortDraftOperation{ChooseRows(IsDrafting, 85), Settings()};
    return ChooseCompact();
  }

 private:
  int32_t MostTokens() const { return static_cast<int32_t>(model_.options().max_draft_tokens); }
  int32_t MostBranches() const { return static_cast<int32_t>(model_.options().max_draft_branches); }
  // The same number for every row, or another for each; out of range now and then.
  Tokens AnyTokens() {
    const int32_t common = UpTo(MostTokens());
    const bool is_common = random_.Percent(50);
    return MapRows([&](const CacheModel::Row&) {
      if (random_.Percent(1)) return MostTokens() + 1;
      return is_common ? common : UpTo(MostTokens());
    });
  }
  Branches AnyBranches() {
    if (random_.Percent(40)) return {};
    return MapRows([&](const CacheModel::Row&) {
      if (random_.Percent(1)) return random_.Percent(50) ? 0 : MostBranches() + 1;
      return random_.Percent(50) ? 1 : 1 + UpTo(MostBranches() - 1);
    });
  }

  Operation ChooseBegin() {
    BeginDraftOperation begin{ChooseRows(IsReady, 92), AnyTokens(), AnyBranches(), Settings()};
    int64_t slots = 0;
    for (size_t i = 0; i < begin.rows.size(); ++i) {
      const int64_t branches = begin.branches.empty() ? 1 : begin.branches[i];
      slots += std::clamp(begin.tokens[i], 0, MostTokens()) * std::clamp<int64_t>(branches, 0, 8);
    }
    begin.settings.slot_capacity = SlotCapacity(slots);
    return begin;
  }

  Operation ChooseCommit() {
    CommitDraftOperation commit{ChooseRows(IsDrafting, 92), {}, {}, {}};
    commit.tokens = MapRows([&](const CacheModel::Row& row) { return Accepted(row); });
    if (random_.Percent(60)) {
      commit.branches = MapRows([&](const CacheModel::Row& row) {
        if (!row.draft) return UpTo(MostBranches());
        return UpTo(static_cast<int32_t>(row.draft->branches.size()) - !random_.Percent(3));
      });
    }
    commit.settings = Settings();
    return commit;
  }
  // How many tokens of the row's draft: none, all, or any, and now and then too many.
  int32_t Accepted(const CacheModel::Row& row) {
    const int32_t most = row.draft ? row.draft->tokens : MostTokens();
    if (random_.Percent(2)) return most + 1;
    return random_.Percent(30) ? most : random_.Percent(15) ? 0 : UpTo(most);
  }

  Operation ChooseCompact() {
    CompactDraftOperation compact{ChooseRows(IsDrafting, 92), {}, {}, {}};
    for (const int32_t row : rows_) {
      const bool in_table = row >= 0 && row < static_cast<int32_t>(model_.options().max_sequences);
      const auto& draft = model_.row(in_table ? row : 0).draft;
      AddTree(draft ? draft->tokens : UpTo(MostTokens()), compact);
    }
    if (random_.Percent(5)) compact.trees.rows.clear();
    compact.settings = Settings();
    return compact;
  }
  // A tree of `nodes` nodes, a leaf of it, and as many tokens as its path has, or fewer.
  void AddTree(int32_t nodes, CompactDraftOperation& compact) {
    std::vector<int32_t> parents;
    for (int32_t node = 0; node < nodes; ++node) {
      parents.push_back(random_.Percent(60) ? node - 1 : UpTo(node) - 1);
      if (random_.Percent(1)) parents.back() = random_.Percent(50) ? node : -2;
    }
    int32_t leaf = nodes == 0 || random_.Percent(20) ? -1 : UpTo(nodes - 1);
    int32_t length = 0;
    for (int32_t node = leaf; node >= 0 && parents[static_cast<size_t>(node)] < node;
         node = parents[static_cast<size_t>(node)]) {
      ++length;
    }
    if (leaf == -1) length = nodes;
    if (random_.Percent(2)) leaf = random_.Percent(50) ? -2 : nodes;
    compact.trees.leaves.push_back(leaf);
    const int32_t tokens = random_.Percent(50) ? length : UpTo(length);
    compact.tokens.push_back(random_.Percent(3) ? length + 1 : random_.Percent(1) ? -1 : tokens);
    compact.trees.rows.push_back(std::move(parents));
  }
};

}  // namespace

Operation RandomDraft(Random& random, const CacheModel& model) {
  return DraftChooser(random, model).Choose();
}

Operation RandomSignal(Random& random, const CacheModel& model) {
  if (random.Percent(20)) return PollOperation{};
  const uint64_t completed = model.pending().completed();
  uint64_t epoch = completed + random.Between(1, 3);
  if (random.Percent(15)) epoch = completed - std::min<uint64_t>(completed, random.Below(3));
  return SignalOperation{std::max<uint64_t>(epoch, 1), random.Percent(30)};
}

}  // namespace kvpage::test
