// SPDX-License-Identifier: Apache-2.0
//
// kvpage/core/row_tiles.h
//
// Walks over the entries of many rows in tiles: as many rows as a subgroup has lanes, times as many
// neighbouring entries of each. Within a tile each lane has one entry number and sees that entry of
// one row after another: the lanes read neighbouring words, and rows that begin with the same
// blocks show a lane the same block again and again, so that it can count instead of adding one by
// one.
//
// Cost: per tile, three shuffles and one load per row.

#ifndef KVPAGE_CORE_ROW_TILES_H_
#define KVPAGE_CORE_ROW_TILES_H_

#include <cstdint>

#include "kvpage/core/bits.h"
#include "kvpage/core/group.h"
#include "kvpage/core/types.h"

namespace kvpage {

// What a tile needs to know of a row: `count` entries of row `row`, from number `begin` on.
struct EntrySpan {
  uint32_t row = 0;
  uint32_t begin = 0;
  uint32_t count = 0;
};

// Calls tile(w, first_place, mine, index) for each tile of `num_places` rows, in the lanes of one
// subgroup w: `mine` is span(place) of place first_place + w.rank(), `index` the number of the
// entry of each span that this lane is to look at, if the span has as many. Collective.
template <Group G, class Span, class Tile>
KVPAGE_HOST_DEVICE void ForEachTile(G& g, uint32_t num_places, Span span, Tile tile) {
  auto w = g.subgroup();
  const uint32_t num_bands = CeilDiv32(num_places, w.size());
  if (num_bands == 0) return;
  // With more subgroups than bands of rows, several share a band.
  const uint32_t sharers = num_bands < g.num_subgroups() ? g.num_subgroups() / num_bands : 1;
  const uint32_t turn = g.subgroup_index() / num_bands;
  if (turn >= sharers && sharers > 1) return;
  for (uint32_t band = sharers > 1 ? g.subgroup_index() % num_bands : g.subgroup_index();
       band<num_bands; band += sharers> 1 ? num_bands : g.num_subgroups()) {
    const uint32_t first_place = band * w.size();
    const uint32_t place = first_place + w.rank();
    const EntrySpan mine = place < num_places ? span(place) : EntrySpan{};
    const uint32_t longest = ~w.Min(~mine.count);
    for (uint32_t base = turn * w.size(); base < longest; base += sharers * w.size()) {
      tile(w, first_place, mine, base + w.rank());
    }
  }
}

// In a tile: calls f(j, row, entry, load(row, entry)) for every row j of the tile, in ascending
// order, where `entry` is the number of the entry that this lane is to look at; with the null block
// if the span of the row has none. Loads run ahead of f. Collective over w.
template <Group W, class Load, class F>
KVPAGE_HOST_DEVICE void ForEachRowOfTile(W& w, const EntrySpan& mine, uint32_t index, Load load,
                                         F f) {
  constexpr uint32_t kAhead = W::kMinLanes >= 8 ? 8 : 1;
  for (uint32_t base = 0; base < w.size(); base += kAhead) {
    BlockId ids[kAhead];
    uint32_t rows[kAhead];
    uint32_t entries[kAhead];
    for (uint32_t u = 0; u < kAhead; ++u) {
      const uint32_t j = base + u < w.size() ? base + u : 0;
      rows[u] = w.Shuffle(mine.row, j);
      entries[u] = w.Shuffle(mine.begin, j) + index;
      const bool has_entry = base + u < w.size() && index < w.Shuffle(mine.count, j);
      ids[u] = has_entry ? load(rows[u], entries[u]) : kNullBlock;
    }
    for (uint32_t u = 0; u < kAhead && base + u < w.size(); ++u) {
      f(base + u, rows[u], entries[u], ids[u]);
    }
  }
}

}  // namespace kvpage

#endif  // KVPAGE_CORE_ROW_TILES_H_
