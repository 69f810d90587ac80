// SPDX-License-Identifier: Apache-2.0
//
// The part of CacheModel that says what lists of blocks do.

#include <algorithm>
#include <map>

#include "tests/model/cache_model.h"

namespace kvpage::test {

using enum OpStatus;

Statuses CacheModel::ChangeList(const Ids& ids, const ListSettings& settings, int32_t change) {
  Statuses statuses(ids.size(), kUnwritten);
  std::map<BlockId, int32_t> left;  // references when the entries so far have been released
  for (const auto& [id, block] : blocks_) left[id] = block.references;
  const size_t meant = Meant(ids.size(), settings.count);
  for (size_t i = 0; i < meant; ++i) {
    statuses[i] = kOk;
    if (ids[i] == kNullBlock) continue;
    if (ids[i] > options_.num_blocks) {
      statuses[i] = kInvalid;
      continue;
    }
    const Block& block = blocks_[ids[i]];
    const bool is_stale = settings.generations && (*settings.generations)[i] != ~0u &&
                          ((*settings.generations)[i] != block.generation || block.references == 0);
    if (is_stale || (change > 0 && block.references == 0)) {
      statuses[i] = kStale;
    } else if (change < 0 && left[ids[i]]-- <= 0) {
      statuses[i] = kDoubleFree;
    }
  }
  CancelUnlessAllOk(statuses, meant, settings.failure);
  const auto end = statuses.begin() + static_cast<ptrdiff_t>(meant);
  const bool goes_on = settings.failure == FailureMode::kPerRow ||
                       std::all_of(statuses.begin(), end, [](OpStatus s) { return s == kOk; });
  const uint64_t until = goes_on ? pending_.Open(settings.fence) : PendingModel::kAtOnce;
  for (size_t i = 0; i < meant; ++i) {
    if (statuses[i] != kOk || ids[i] == kNullBlock) continue;
    outside_[ids[i]] += change;
    if (outside_[ids[i]] == 0) outside_.erase(ids[i]);
    if (change > 0) {
      ++blocks_[ids[i]].references;
    } else {
      Drop(ids[i], until);
    }
  }
  return statuses;
}

Statuses CacheModel::Share(const Ids& ids, const ListSettings& settings) {
  return ChangeList(ids, settings, 1);
}

Statuses CacheModel::Release(const Ids& ids, const ListSettings& settings) {
  return ChangeList(ids, settings, -1);
}

}  // namespace kvpage::test
