// SPDX-License-Identifier: Apache-2.0

#include "tests/model/cache_model.h"

#include <algorithm>

namespace kvpage::test {
namespace {

using enum OpStatus;

size_t BlocksFor(int64_t tokens, uint32_t block_tokens) {
  return static_cast<size_t>((tokens + block_tokens - 1) / block_tokens);
}

}  // namespace

CacheModel::CacheModel(const KvCacheOptions& options)
    : options_(options), rows_(options.max_sequences), pending_(options.pending_sets) {
  for (BlockId id = 1; id <= options.num_blocks; ++id) {
    blocks_[id];
    free_.insert(id);
  }
}

size_t CacheModel::Meant(size_t size, const std::optional<int32_t>& count) const {
  if (!count) return size;
  return static_cast<size_t>(std::clamp<int64_t>(*count, 0, static_cast<int64_t>(size)));
}

Statuses CacheModel::Plan(const Rows& rows, const RowSettings& settings,
                          const std::function<OpStatus(size_t)>& plan) const {
  Statuses statuses(rows.size(), kUnwritten);
  std::set<int32_t> seen;
  for (size_t i = 0; i < Meant(rows.size(), settings.count); ++i) {
    const bool in_table = rows[i] >= 0 && rows[i] < static_cast<int32_t>(rows_.size());
    statuses[i] = in_table && seen.insert(rows[i]).second ? plan(i) : kInvalid;
  }
  return statuses;
}

void CacheModel::CancelUnlessAllOk(Statuses& statuses, size_t meant, FailureMode failure) {
  const auto end = statuses.begin() + static_cast<ptrdiff_t>(meant);
  if (failure == FailureMode::kPerRow) return;
  if (std::all_of(statuses.begin(), end, [](OpStatus s) { return s == kOk; })) return;
  std::replace(statuses.begin(), end, kOk, kCancelled);
}

BlockId CacheModel::TakeLowest() {
  const BlockId id = *free_.begin();
  free_.erase(free_.begin());
  Block& block = blocks_[id];
  block.references = 1;
  block.generation = (block.generation + 1) % (1 << kGenerationBits);
  return id;
}

void CacheModel::Drop(BlockId id, uint64_t until) {
  Block& block = blocks_[id];
  if (--block.references > 0) return;
  if (until == PendingModel::kAtOnce) {
    free_.insert(id);
  } else {
    pending_.Add(until, id);
  }
}

OpStatus CacheModel::FullOrRetry(size_t need) const {
  return need <= free_.size() + pending_.size() ? kRetryAfterFence : kFull;
}

std::vector<Ids> CacheModel::Grant(Statuses& statuses, const Needs& needs, FailureMode failure) {
  size_t wanted = 0;
  for (size_t i = 0; i < needs.size(); ++i) wanted += statuses[i] == kOk ? needs[i] : 0;
  std::vector<Ids> granted(needs.size());
  if (wanted > 0) Poll();
  if (failure == FailureMode::kWholeBatch && wanted > free_.size()) {
    const OpStatus status = wanted > options_.num_blocks ? kNeverFits : FullOrRetry(wanted);
    for (size_t i = 0; i < needs.size(); ++i) {
      if (statuses[i] == kOk) statuses[i] = needs[i] > 0 ? status : kCancelled;
    }
    return granted;
  }
  for (size_t i = 0; i < needs.size(); ++i) {
    if (statuses[i] != kOk) continue;
    if (needs[i] > free_.size()) {
      statuses[i] = FullOrRetry(needs[i]);
      continue;
    }
    for (uint32_t k = 0; k < needs[i]; ++k) granted[i].push_back(TakeLowest());
  }
  return granted;
}

RowResults CacheModel::Grow(const Rows& rows, const Tokens& tokens, const RowSettings& settings,
                            bool appends) {
  const uint32_t block_tokens = options_.block_tokens;
  Needs needs(rows.size(), 0);
  std::vector<bool> copies_tail(rows.size(), false);
  RowResults results;
  results.statuses = Plan(rows, settings, [&](size_t i) {
    if (tokens[i] < 0) return kInvalid;
    const Row& row = rows_[static_cast<size_t>(rows[i])];
    if (row.draft) return kWrongState;
    const size_t blocks = BlocksFor(int64_t{appends ? row.kv_len : 0} + tokens[i], block_tokens);
    if (blocks > options_.max_blocks_per_sequence) return kTableFull;
    if (blocks > options_.num_blocks) return kNeverFits;
    needs[i] = static_cast<uint32_t>(std::max(blocks, row.blocks.size()) - row.blocks.size());
    const auto tail = static_cast<size_t>(row.kv_len) / block_tokens;
    copies_tail[i] = appends && tokens[i] > 0 && row.kv_len % block_tokens != 0 &&
                     blocks_[row.blocks[tail]].references > 1;
    needs[i] += copies_tail[i];
    return copies_tail[i] && !settings.with_copies ? kWrongState : kOk;
  });
  const size_t meant = Meant(rows.size(), settings.count);
  if (appends && settings.slot_capacity) {
    int64_t slots = 0;
    for (size_t i = 0; i < meant; ++i) {
      slots += std::max(tokens[i], 0);
      if (tokens[i] > 0 && slots > *settings.slot_capacity) results.statuses[i] = kInvalid;
    }
  }
  CancelUnlessAllOk(results.statuses, meant, settings.failure);
  // Only who means to let go of a tail takes notice of the fence.
  bool some_replace = false;
  for (size_t i = 0; i < meant; ++i) some_replace |= copies_tail[i] && results.statuses[i] == kOk;
  const std::vector<Ids> granted = Grant(results.statuses, needs, settings.failure);

  if (settings.with_copies) results.copies.resize(rows.size());
  Ids replaced;
  for (size_t i = 0; i < meant; ++i) {
    if (results.statuses[i] != kOk) continue;
    Row& row = rows_[static_cast<size_t>(rows[i])];
    Ids ids = granted[i];
    if (copies_tail[i]) {
      BlockId& tail = row.blocks[static_cast<size_t>(row.kv_len) / block_tokens];
      results.copies[i] = {tail, ids[0], static_cast<int32_t>(row.kv_len % block_tokens)};
      replaced.push_back(tail);
      tail = ids[0];
      ++row.generation;
      ids.erase(ids.begin());
    }
    row.blocks.insert(row.blocks.end(), ids.begin(), ids.end());
    row.is_open = true;
    if (appends) row.kv_len += tokens[i];
  }
  const uint64_t until = some_replace ? pending_.Open(settings.fence) : PendingModel::kAtOnce;
  for (const BlockId id : replaced) Drop(id, until);
  return results;
}

Statuses CacheModel::Reserve(const Rows& rows, const Tokens& tokens, const RowSettings& settings) {
  return Grow(rows, tokens, settings, false).statuses;
}

RowResults CacheModel::Append(const Rows& rows, const Tokens& tokens, const RowSettings& settings) {
  RowResults results = Grow(rows, tokens, settings, true);
  if (settings.slot_capacity) {
    results.slots = SlotsOf(rows, tokens, results, *settings.slot_capacity);
  }
  return results;
}

Slots CacheModel::SlotsOf(const Rows& rows, const Tokens& tokens, const RowResults& results,
                          int64_t capacity) const {
  Slots slots;
  for (size_t i = 0; i < rows.size() && static_cast<int64_t>(slots.size()) < capacity; ++i) {
    if (results.statuses[i] == kUnwritten) break;
    for (int32_t t = 0; t < tokens[i] && static_cast<int64_t>(slots.size()) < capacity; ++t) {
      if (results.statuses[i] != kOk) {
        slots.push_back(-1);
        continue;
      }
      const Row& row = rows_[static_cast<size_t>(rows[i])];
      const int64_t at = row.kv_len - tokens[i] + t;
      const BlockId id = row.blocks[static_cast<size_t>(at / options_.block_tokens)];
      slots.push_back(int64_t{id} * options_.block_tokens + at % options_.block_tokens);
    }
  }
  slots.resize(static_cast<size_t>(capacity), -1);
  return slots;
}

Statuses CacheModel::Truncate(const Rows& rows, const Tokens& tokens, const RowSettings& settings) {
  Statuses statuses = Plan(rows, settings, [&](size_t i) {
    if (tokens[i] < 0) return kInvalid;
    const Row& row = rows_[static_cast<size_t>(rows[i])];
    if (!row.is_open) return kClosed;
    return row.draft ? kWrongState : kOk;
  });
  CancelUnlessAllOk(statuses, Meant(rows.size(), settings.count), settings.failure);
  const uint64_t until = pending_.Open(settings.fence);
  for (size_t i = 0; i < rows.size(); ++i) {
    if (statuses[i] != kOk) continue;
    Row& row = rows_[static_cast<size_t>(rows[i])];
    row.generation += tokens[i] < row.kv_len;
    row.kv_len = std::min(row.kv_len, tokens[i]);
    while (row.blocks.size() > BlocksFor(tokens[i], options_.block_tokens)) {
      Drop(row.blocks.back(), until);
      row.blocks.pop_back();
    }
  }
  return statuses;
}

Statuses CacheModel::Close(const Rows& rows, const RowSettings& settings) {
  Statuses statuses = Plan(rows, settings, [&](size_t i) {
    return rows_[static_cast<size_t>(rows[i])].is_open ? kOk : kClosed;
  });
  CancelUnlessAllOk(statuses, Meant(rows.size(), settings.count), settings.failure);
  const uint64_t until = pending_.Open(settings.fence);
  for (size_t i = 0; i < rows.size(); ++i) {
    if (statuses[i] != kOk) continue;
    Row& row = rows_[static_cast<size_t>(rows[i])];
    for (const BlockId id : row.blocks) Drop(id, until);
    if (row.draft) DropDraft(*row.draft, until);
    row = Row{.is_open = false, .generation = row.generation + 1, .kv_len = 0, .blocks = {}};
  }
  return statuses;
}

RowResults CacheModel::Fork(const Rows& children, const Rows& parents, const Tokens& tokens,
                            const RowSettings& settings) {
  const auto block_tokens = static_cast<int32_t>(options_.block_tokens);
  Needs needs(children.size(), 0);
  RowResults results;
  results.statuses = Plan(children, settings, [&](size_t i) {
    if (parents[i] < 0 || parents[i] >= static_cast<int32_t>(rows_.size()) || tokens[i] < 0) {
      return kInvalid;
    }
    if (rows_[static_cast<size_t>(children[i])].is_open) return kWrongState;
    const Row& parent = rows_[static_cast<size_t>(parents[i])];
    if (!parent.is_open) return kClosed;
    if (tokens[i] > parent.kv_len) return kInvalid;
    needs[i] = tokens[i] % block_tokens != 0;
    return needs[i] > 0 && !settings.with_copies ? kWrongState : kOk;
  });
  CancelUnlessAllOk(results.statuses, Meant(children.size(), settings.count), settings.failure);
  const std::vector<Ids> granted = Grant(results.statuses, needs, settings.failure);
  if (settings.with_copies) results.copies.resize(children.size());
  for (size_t i = 0; i < children.size(); ++i) {
    if (results.statuses[i] != kOk) continue;
    Row& child = rows_[static_cast<size_t>(children[i])];
    const Row& parent = rows_[static_cast<size_t>(parents[i])];
    child.is_open = true;
    child.kv_len = tokens[i];
    const auto full = static_cast<size_t>(tokens[i] / block_tokens);
    for (size_t k = 0; k < full; ++k) {
      child.blocks.push_back(parent.blocks[k]);
      ++blocks_[parent.blocks[k]].references;
    }
    if (needs[i] == 0) continue;
    child.blocks.push_back(granted[i][0]);
    results.copies[i] = {parent.blocks[full], granted[i][0], tokens[i] % block_tokens};
  }
  return results;
}

}  // namespace kvpage::test
