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

struct RowSnapshot {
  bool is_open = false;
  uint32_t generation = 0;
  int32_t kv_len = 0;
  uint32_t held = 0;
  Ids entries;  // all, null-filled

  friend bool operator==(const RowSnapshot&, const RowSnapshot&) = default;
};

struct BlockSnapshot {
  int32_t references = 0;
  uint32_t generation = 0;
  bool is_free = true;

  friend bool operator==(const BlockSnapshot&, const BlockSnapshot&) = default;
};

struct CacheSnapshot {
  std::vector<RowSnapshot> rows;
  std::vector<BlockSnapshot> blocks;  // id i at i - 1

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
      return std::vector<int64_t>{r.is_open, r.generation, r.kv_len, r.held};
    };
    return "row " + std::to_string(i) +
           ": open, generation, length, held: " + print(values(a), values(b)) +
           "; entries: " + print(a.entries, b.entries);
  }
  for (size_t i = 0; i < expected.blocks.size(); ++i) {
    const BlockSnapshot& a = is.blocks[i];
    const BlockSnapshot& b = expected.blocks[i];
    if (a == b) continue;
    const auto values = [](const BlockSnapshot& s) {
      return std::vector<int64_t>{s.references, s.generation, s.is_free};
    };
    return "block " + std::to_string(i + 1) +
           ": references, generation, free: " + print(values(a), values(b));
  }
  return "";
}

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_SUPPORT_CACHE_SNAPSHOT_H_
