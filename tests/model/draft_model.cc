// SPDX-License-Identifier: Apache-2.0
//
// The part of CacheModel that says what drafts do, and its state.

#include <set>
#include <utility>

#include "tests/model/cache_model.h"

namespace kvpage::test {
namespace {

using enum OpStatus;

int32_t BranchOf(const Branches& branches, size_t i, int32_t otherwise) {
  return branches.empty() ? otherwise : branches[i];
}

}  // namespace

// The numbers of the row's blocks that its tokens begin .. end - 1 lie in.
std::vector<size_t> CacheModel::BlocksOf(int64_t begin, int64_t end) const {
  std::set<size_t> numbers;
  for (int64_t at = begin; at < end; ++at) {
    numbers.insert(static_cast<size_t>(at / options_.block_tokens));
  }
  return {numbers.begin(), numbers.end()};
}

OpStatus CacheModel::PlanDraft(const Row& row, Draft& draft, bool with_copies) const {
  if (!row.is_open) return kClosed;
  if (row.draft) return kWrongState;
  const int64_t end = int64_t{row.kv_len} + draft.tokens;
  if (end > int64_t{options_.block_tokens} * options_.max_blocks_per_sequence) return kTableFull;
  const std::vector<size_t> numbers = BlocksOf(row.kv_len, end);
  const bool begins_inside =
      draft.tokens > 0 && row.kv_len % static_cast<int32_t>(options_.block_tokens) != 0;
  const bool is_alone = draft.branches.size() == 1;
  draft.copies_tail =
      begins_inside && (!is_alone || blocks_.at(row.blocks[numbers[0]]).references > 1);
  size_t need = 0;
  for (Private& branch : draft.branches) {
    for (const size_t number : numbers) {
      const bool is_own = number < row.blocks.size() && is_alone && !draft.copies_tail;
      if (!is_own) branch[number] = kNullBlock;
    }
    need += branch.size();
  }
  if (need > options_.num_blocks) return kNeverFits;
  return draft.copies_tail && !with_copies ? kWrongState : kOk;
}

RowResults CacheModel::BeginDraft(const Rows& rows, const Tokens& tokens, const Branches& branches,
                                  const RowSettings& settings) {
  const auto has_shape = [&](size_t i) {
    const int32_t number = BranchOf(branches, i, 1);
    return tokens[i] >= 0 && tokens[i] <= static_cast<int32_t>(options_.max_draft_tokens) &&
           number >= 1 && number <= static_cast<int32_t>(options_.max_draft_branches);
  };
  std::vector<Draft> drafts(rows.size());
  Needs needs(rows.size(), 0);
  RowResults results;
  results.statuses = Plan(rows, settings, [&](size_t i) {
    if (!has_shape(i)) return kInvalid;
    drafts[i].tokens = tokens[i];
    drafts[i].branches.resize(static_cast<size_t>(BranchOf(branches, i, 1)));
    const OpStatus status =
        PlanDraft(rows_[static_cast<size_t>(rows[i])], drafts[i], settings.with_copies);
    for (const Private& branch : drafts[i].branches) {
      needs[i] += static_cast<uint32_t>(branch.size());
    }
    return status;
  });
  const size_t meant = Meant(rows.size(), settings.count);
  // A row whose tokens or branches are out of range has no slots.
  std::vector<int64_t> slots(meant, 0);
  int64_t all_slots = 0;
  for (size_t i = 0; i < meant; ++i) {
    if (has_shape(i)) slots[i] = int64_t{tokens[i]} * BranchOf(branches, i, 1);
    all_slots += slots[i];
    if (settings.slot_capacity && slots[i] > 0 && all_slots > *settings.slot_capacity) {
      results.statuses[i] = kInvalid;
    }
  }
  CancelUnlessAllOk(results.statuses, meant, settings.failure);
  const std::vector<Ids> granted = Grant(results.statuses, needs, settings.failure);

  if (settings.with_copies) results.copies.resize(rows.size() * options_.max_draft_branches);
  for (size_t i = 0; i < meant; ++i) {
    if (results.statuses[i] != kOk) {
      results.slots.insert(results.slots.end(), static_cast<size_t>(slots[i]), -1);
      continue;
    }
    Row& row = rows_[static_cast<size_t>(rows[i])];
    auto next = granted[i].begin();
    for (size_t b = 0; b < drafts[i].branches.size(); ++b) {
      Private& branch = drafts[i].branches[b];
      for (auto& [number, id] : branch) id = *next++;
      if (drafts[i].copies_tail) {
        const auto& [number, id] = *branch.begin();
        results.copies[i * options_.max_draft_branches + b] = {
            row.blocks[number], id, row.kv_len % static_cast<int32_t>(options_.block_tokens)};
      }
      for (int32_t t = 0; t < tokens[i]; ++t) {
        results.slots.push_back(DraftSlot(row, branch, row.kv_len + t));
      }
    }
    row.draft = drafts[i];
  }
  results.slots.resize(static_cast<size_t>(settings.slot_capacity.value_or(0)), -1);
  return results;
}

int64_t CacheModel::DraftSlot(const Row& row, const Private& branch, int64_t position) const {
  const auto number = static_cast<size_t>(position / options_.block_tokens);
  const auto found = branch.find(number);
  const BlockId id = found == branch.end() ? row.blocks[number] : found->second;
  return int64_t{id} * options_.block_tokens + position % options_.block_tokens;
}

Statuses CacheModel::CommitDraft(const Rows& rows, const Tokens& tokens, const Branches& branches,
                                 const RowSettings& settings) {
  Statuses statuses(rows.size(), kUnwritten);
  const size_t meant = Meant(rows.size(), settings.count);
  std::set<int32_t> taken;
  for (size_t i = 0; i < meant; ++i) {
    statuses[i] = kInvalid;
    if (rows[i] < 0 || rows[i] >= static_cast<int32_t>(rows_.size())) continue;
    const Row& row = rows_[static_cast<size_t>(rows[i])];
    const int32_t branch = BranchOf(branches, i, 0);
    if (!row.is_open) {
      statuses[i] = kClosed;
    } else if (!row.draft) {
      statuses[i] = kWrongState;
    } else if (branch >= 0 && branch < static_cast<int32_t>(row.draft->branches.size()) &&
               tokens[i] >= 0 && tokens[i] <= row.draft->tokens) {
      statuses[i] = taken.insert(rows[i]).second ? kOk : kWrongState;
    }
  }
  CancelUnlessAllOk(statuses, meant, settings.failure);
  const uint64_t until = pending_.Open(settings.fence);
  for (size_t i = 0; i < meant; ++i) {
    if (statuses[i] != kOk) continue;
    Row& row = rows_[static_cast<size_t>(rows[i])];
    Draft draft = *row.draft;
    Private& accepted = draft.branches[static_cast<size_t>(BranchOf(branches, i, 0))];
    bool replaces = false;
    for (const size_t number : BlocksOf(row.kv_len, int64_t{row.kv_len} + tokens[i])) {
      const auto found = accepted.find(number);
      if (found == accepted.end()) continue;  // the row's own
      if (number == row.blocks.size()) row.blocks.push_back(kNullBlock);
      std::swap(row.blocks[number], found->second);
      replaces |= found->second != kNullBlock;
    }
    row.kv_len += tokens[i];
    row.generation += replaces;
    row.draft.reset();
    DropDraft(draft, until);
  }
  return statuses;
}

Statuses CacheModel::AbortDraft(const Rows& rows, const RowSettings& settings) {
  return CommitDraft(rows, Tokens(rows.size(), 0), {}, settings);
}

void CacheModel::DropDraft(const Draft& draft, uint64_t until) {
  for (const Private& branch : draft.branches) {
    for (const auto& [number, id] : branch) {
      if (id != kNullBlock) Drop(id, until);
    }
  }
}

RowResults CacheModel::CompactDraft(const Rows& rows, const Tokens& tokens, const Trees& trees,
                                    const RowSettings& settings) const {
  const size_t each = options_.max_draft_tokens;
  std::vector<std::vector<int32_t>> paths(rows.size());  // nodes from the root to the leaf
  RowResults results;
  results.statuses = Plan(rows, settings, [&](size_t i) {
    const Row& row = rows_[static_cast<size_t>(rows[i])];
    if (!row.is_open) return kClosed;
    if (!row.draft) return kWrongState;
    if (tokens[i] < 0 || tokens[i] > row.draft->tokens || trees.leaves[i] < -1) return kInvalid;
    if (trees.leaves[i] == -1) return kOk;
    if (row.draft->branches.size() > 1) return kWrongState;
    if (trees.leaves[i] >= row.draft->tokens || trees.rows.empty()) return kInvalid;
    for (int32_t node = trees.leaves[i]; node != -1;) {
      paths[i].insert(paths[i].begin(), node);
      const int32_t parent = trees.rows[i][static_cast<size_t>(node)];
      if (parent < -1 || parent >= node) return kInvalid;
      node = parent;
    }
    return tokens[i] > static_cast<int32_t>(paths[i].size()) ? kInvalid : kOk;
  });
  const size_t meant = Meant(rows.size(), settings.count);
  CancelUnlessAllOk(results.statuses, meant, settings.failure);
  results.moves.resize(rows.size() * each);
  results.commit_tokens.assign(rows.size(), kUnwrittenTokens);
  for (size_t i = 0; i < meant; ++i) {
    const bool is_ok = results.statuses[i] == kOk;
    results.commit_tokens[i] = is_ok ? tokens[i] : -1;
    if (!is_ok) continue;
    const Row& row = rows_[static_cast<size_t>(rows[i])];
    const Private& nodes = row.draft->branches[0];
    for (size_t d = 0; d < paths[i].size() && static_cast<int32_t>(d) < tokens[i]; ++d) {
      const int64_t to = row.kv_len + static_cast<int64_t>(d);
      const int64_t from = row.kv_len + paths[i][d];
      if (from == to) continue;
      results.moves[i * each + d] = {DraftSlot(row, nodes, from), DraftSlot(row, nodes, to)};
    }
  }
  return results;
}

void CacheModel::Poll() {
  const std::set<BlockId> due = pending_.TakeDue();
  free_.insert(due.begin(), due.end());
}

Ids CacheModel::DraftEntries(const Row& row) const {
  if (options_.max_draft_tokens == 0) return {};
  // A branch may begin behind all but one slot of a block.
  const uint32_t most =
      (options_.max_draft_tokens + 2 * (options_.block_tokens - 1)) / options_.block_tokens;
  Ids entries(size_t{most} * options_.max_draft_branches, kNullBlock);
  if (!row.draft) return entries;
  const size_t first = static_cast<size_t>(row.kv_len) / options_.block_tokens;
  for (size_t b = 0; b < row.draft->branches.size(); ++b) {
    for (const auto& [number, id] : row.draft->branches[b]) entries[b * most + number - first] = id;
  }
  return entries;
}

CacheSnapshot CacheModel::Snapshot() const {
  CacheSnapshot snapshot;
  for (const Row& row : rows_) {
    Ids entries = row.blocks;
    entries.resize(options_.max_blocks_per_sequence, kNullBlock);
    snapshot.rows.push_back({row.is_open, row.generation, row.kv_len,
                             static_cast<uint32_t>(row.blocks.size()), entries, DraftSnapshot{},
                             DraftEntries(row)});
    if (!row.draft) continue;
    snapshot.rows.back().draft = {true, static_cast<uint32_t>(row.draft->tokens),
                                  static_cast<uint32_t>(row.draft->branches.size())};
  }
  for (const auto& [id, block] : blocks_) {
    snapshot.blocks.push_back(
        {block.references, block.generation, free_.count(id) > 0, pending_.WaitsFor(id)});
  }
  snapshot.completed = pending_.completed();
  return snapshot;
}

uint64_t CacheModel::SignalNext(uint64_t epoch) {
  Signal(epoch);
  Poll();
  return epoch + 1;
}

}  // namespace kvpage::test
