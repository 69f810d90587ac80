// SPDX-License-Identifier: Apache-2.0
//
// Tiles of entries, walked by a thread, an emulated warp and an emulated thread block: each entry
// of each span is seen once, its row's lanes see rows in ascending order.

#include "kvpage/core/row_tiles.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "tests/support/emulated_warp.h"
#include "tests/support/random.h"

namespace kvpage::test {
namespace {

using Entries = std::map<std::pair<uint32_t, uint32_t>, int>;  // (row, entry) -> times seen

// An id that tells the entry it was loaded from.
BlockId IdOf(uint32_t row, uint32_t entry) { return row * 1000 + entry + 1; }

class Walk {
 public:
  explicit Walk(std::vector<EntrySpan> spans) : spans_(std::move(spans)) {}

  template <class G>
  void Run(G& g) {
    ForEachTile(
        g, static_cast<uint32_t>(spans_.size()), [&](uint32_t place) { return spans_[place]; },
        [&](auto& w, uint32_t first_place, const EntrySpan& mine, uint32_t index) {
          uint32_t next_row = 0;
          ForEachRowOfTile(w, mine, index, IdOf,
                           [&](uint32_t j, uint32_t row, uint32_t entry, BlockId id) {
                             EXPECT_EQ(j, next_row++);
                             if (id == kNullBlock) return;
                             EXPECT_EQ(id, IdOf(row, entry));
                             EXPECT_EQ(row, spans_[first_place + j].row);
                             const std::lock_guard<std::mutex> lock(mutex_);
                             ++seen_[{row, entry}];
                           });
          EXPECT_EQ(next_row, w.size());
        });
  }

  void ExpectAllOnce() const {
    Entries expected;
    for (const EntrySpan& span : spans_) {
      for (uint32_t k = 0; k < span.count; ++k) expected[{span.row, span.begin + k}] = 1;
    }
    EXPECT_EQ(seen_, expected);
  }

 private:
  std::vector<EntrySpan> spans_;
  Entries seen_;
  std::mutex mutex_;
};

std::vector<EntrySpan> Spans(uint64_t seed, uint32_t places, uint32_t most) {
  Random random(seed);
  std::vector<EntrySpan> spans;
  for (uint32_t i = 0; i < places; ++i) {
    spans.push_back({i, random.Below(5), random.Percent(20) ? 0 : random.Below(most + 1)});
  }
  return spans;
}

TEST(RowTiles, AThreadSeesEveryEntryOnce) {
  Walk walk(Spans(1, 50, 40));
  ThreadGroup thread;
  walk.Run(thread);
  walk.ExpectAllOnce();
}

TEST(RowTiles, AWarpSeesEveryEntryOnce) {
  for (const uint32_t places : {0u, 1u, 31u, 32u, 70u}) {
    Walk walk(Spans(places, places, 100));
    RunWarps(1, [&](EmulatedWarp& warp) { walk.Run(warp); });
    walk.ExpectAllOnce();
  }
}

// Fewer bands of rows than warps, as many, and more.
TEST(RowTiles, AThreadBlockSharesTheTilesOut) {
  for (const uint32_t places : {1u, 40u, 100u, 200u}) {
    Walk walk(Spans(places, places, 200));
    RunBlocks(1, 4, [&](EmulatedBlock& block) { walk.Run(block); });
    walk.ExpectAllOnce();
  }
}

}  // namespace
}  // namespace kvpage::test
