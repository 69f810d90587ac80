// SPDX-License-Identifier: Apache-2.0
//
// tests/support/cache_snapshot.h
//
// The whole state of a cache as plain values, to be compared between backends and with a model.

#ifndef KVPAGE_TESTS_SUPPORT_CACHE_SNAPSHOT_H_
#define KVPAGE_TESTS_SUPPORT_CACHE_SNAPSHOT_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "kvpage/core/types.h"

namespace kvpage::test {

using Ids = std::vector<BlockId>;

struct DraftSnapshot {
  bool is_open = false;
  uint32_t tokens = 0;
  uint32_t branches = 0;

  friend bool operator==(const DraftSnapshot&, const DraftSnapshot&) = default;
};

struct RowSnapshot {
  bool is_open = false;
  uint32_t generation = 0;
  int32_t kv_len = 0;
  uint32_t held = 0;
  Ids entries;  // all, null-filled
  DraftSnapshot draft = {};
  Ids draft_entries = {};  // all, null-filled: [max_draft_branches][draft_branch_blocks]

  friend bool operator==(const RowSnapshot&, const RowSnapshot&) = default;
};

struct BlockSnapshot {
  int32_t references = 0;
  uint32_t generation = 0;
  bool is_free = true;
  uint64_t waits_for = 0;  // the epoch under which it is pending

  friend bool operator==(const BlockSnapshot&, const BlockSnapshot&) = default;
};

struct CacheSnapshot {
  std::vector<RowSnapshot> rows;
  std::vector<BlockSnapshot> blocks;  // id i at i - 1
  uint64_t completed = 0;             // the youngest epoch that has completed

  friend bool operator==(const CacheSnapshot&, const CacheSnapshot&) = default;
};

// The first row or block in which they differ; empty if they are equal.
inline std::string Difference(const CacheSnapshot& is, const CacheSnapshot& expected) {
  const auto print = [](const auto& a, const auto& b) {
    return "is " + testing::PrintToString(a) + ", expected " + testing::PrintToString(b);
  };
  for (size_t i = 0; i < expected.rows.size(); ++i) {
    const RowSnapshot& a = is.rows[i];
    const RowSnapshot& b = expected.rows[i];
    if (a == b) continue;
    const auto values = [](const RowSnapshot& r) {
      return std::vector<int64_t>{r.is_open,       r.generation,   r.kv_len,        r.held,
                                  r.draft.is_open, r.draft.tokens, r.draft.branches};
    };
    return "row " + std::to_string(i) +
           ": open, generation, length, held, draft, its tokens, its branches: " +
           print(values(a), values(b)) + "; entries: " + print(a.entries, b.entries) +
           "; of the draft: " + print(a.draft_entries, b.draft_entries);
  }
  for (size_t i = 0; i < expected.blocks.size(); ++i) {
    const BlockSnapshot& a = is.blocks[i];
    const BlockSnapshot& b = expected.blocks[i];
    if (a == b) continue;
    const auto values = [](const BlockSnapshot& s) {
      return std::vector<int64_t>{s.references, s.generation, s.is_free,
                                  static_cast<int64_t>(s.waits_for)};
    };
    return "block " + std::to_string(i + 1) +
           ": references, generation, free, waits for: " + print(values(a), values(b));
  }
  if (is.completed != expected.completed) {
    return "completed epoch: " + print(is.completed, expected.completed);
  }
  return "";
}

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_SUPPORT_CACHE_SNAPSHOT_H_
