// SPDX-License-Identifier: Apache-2.0
//
// kvpage/core/row_strips.h
//
// How the short ways of Fork, Truncate and Close share the entries of many rows out: each thread
// block has places of the batch for itself, its warps have each a strip of them, some neighbouring
// rows by as many neighbouring entries as a warp has lanes. A lane sees one entry of one row after
// another, and what the warps above one another find is compared in the block's shared memory with
// what the uppermost found, which speaks for those that found the same: rows that share a prefix
// then cost one change of a block's word for each thread block.
//
// Thread safety, memory ordering: those of the groups; nothing here touches memory.
// Cost: per stage (a row for each lane of each slice of warps, an entry for each lane of each
//   column of them) what its user does: a barrier of the thread block to hand the rows out, one to
//   merge.

#ifndef KVPAGE_CORE_ROW_STRIPS_H_
#define KVPAGE_CORE_ROW_STRIPS_H_

#include <cstdint>

#include "kvpage/core/bits.h"
#include "kvpage/core/group.h"

namespace kvpage {

// The thread blocks of a group. A group that says nothing else is one.
template <Group G>
struct BlocksOf {
  KVPAGE_HOST_DEVICE static uint32_t Count(const G&) { return 1; }
  KVPAGE_HOST_DEVICE static uint32_t Index(const G&) { return 0; }
  KVPAGE_HOST_DEVICE static G& Mine(G& g) { return g; }
};
template <Group G>
requires requires(G& g) { g.block(); }
struct BlocksOf<G> {
  KVPAGE_HOST_DEVICE static uint32_t Count(const G& g) { return g.num_blocks(); }
  KVPAGE_HOST_DEVICE static uint32_t Index(const G& g) { return g.block_index(); }
  KVPAGE_HOST_DEVICE static auto& Mine(G& g) { return g.block(); }
};

// Sync and Any; at once where the group can.
template <Group G>
KVPAGE_HOST_DEVICE bool SyncAny(G& g, bool b) {
  if constexpr (requires { g.SyncAny(b); }) {
    return g.SyncAny(b);
  } else {
    g.Sync();
    return g.Any(b);
  }
}

// The thread blocks that run an operation beside this group and do not meet it: all of the grid. A
// group that says nothing else is alone.
template <Group G>
struct GridOf {
  KVPAGE_HOST_DEVICE static uint32_t Count(const G& g) { return BlocksOf<G>::Count(g); }
  KVPAGE_HOST_DEVICE static uint32_t Index(const G& g) { return BlocksOf<G>::Index(g); }
};
template <Group G>
requires requires(G& g) { g.grid_blocks(); }
struct GridOf<G> {
  KVPAGE_HOST_DEVICE static uint32_t Count(const G& g) { return g.grid_blocks(); }
  KVPAGE_HOST_DEVICE static uint32_t Index(const G& g) { return g.grid_block(); }
};

// n divided by a power of two, rounded up, without a division.
KVPAGE_HOST_DEVICE inline uint32_t CeilByPowerOfTwo(uint32_t n, uint32_t power) {
  return (n + power - 1) >> LowestBit(power);
}

// The places of a batch that one thread block looks after, one for each of its first lanes.
struct BlockPlaces {
  uint32_t first = 0;
  uint32_t count = 0;
};
// Those of block number `index` of `num_blocks`, which is a power of two.
KVPAGE_HOST_DEVICE inline BlockPlaces PlacesOf(uint32_t index, uint32_t num_blocks,
                                               uint32_t num_places) {
  const uint32_t each = CeilByPowerOfTwo(num_places, num_blocks);
  BlockPlaces places;
  places.first = index * each;
  if (places.first < num_places) {
    const uint32_t left = num_places - places.first;
    places.count = left < each ? left : each;
  }
  return places;
}

// One warp's strip in one stage.
struct Strip {
  uint32_t first = 0;  // its first place, counted from the block's first
  uint32_t count = 0;  // how many places; at most a lane for each
  uint32_t each = 0;   // of how many places the strips of this stage are, but for the last ones
  uint32_t index = 0;  // the number of the entry that this lane looks at
};

// How the warps of a thread block B lie over its places and their entries: `columns` of them side
// by side, `slices` above one another.
template <class B>
class RowStrips {
 public:
  // `longest`: the most entries that any of the places has.
  KVPAGE_HOST_DEVICE RowStrips(const B& block, uint32_t num_places, uint32_t longest)
      : lanes_(block.subgroup().size()), num_places_(num_places), longest_(longest) {
    // Powers of two, so that nothing has to be divided; warps that are left over only meet.
    const uint32_t warps = block.num_subgroups();
    uint32_t column_shift = 0;
    while (lanes_ << column_shift < longest && 2u << column_shift <= warps) ++column_shift;
    columns_ = 1u << column_shift;
    uint32_t slice_shift = 0;
    while (columns_ << (slice_shift + 1) <= warps) ++slice_shift;
    slices_ = 1u << slice_shift;
    slice_ = block.subgroup_index() >> column_shift;
    column_ = block.subgroup_index() & (columns_ - 1);
  }

  // Whether there is one stage only: what was looked at in it need not be looked at again.
  KVPAGE_HOST_DEVICE bool is_single() const {
    return num_places_ > 0 && num_places_ <= slices_ * lanes_ && longest_ <= columns_ * lanes_;
  }
  KVPAGE_HOST_DEVICE uint32_t slices() const { return slices_; }
  KVPAGE_HOST_DEVICE uint32_t slice() const { return slice_; }
  // The lane of slice number `slice` that looks at the same entry as lane `rank` of this warp.
  KVPAGE_HOST_DEVICE uint32_t LaneOfSlice(uint32_t slice, uint32_t rank) const {
    return (slice * columns_ + column_) * lanes_ + rank;
  }

  // This warp's strip in the stage that begins with place `base` of the block and entry `entry`.
  KVPAGE_HOST_DEVICE Strip At(uint32_t rank, uint32_t base, uint32_t entry) const {
    const uint32_t left = num_places_ - base;
    const uint32_t here = left < slices_ * lanes_ ? left : slices_ * lanes_;
    const uint32_t each = CeilByPowerOfTwo(here, slices_);
    const uint32_t begin = slice_ * each;
    Strip strip;
    strip.first = base + begin;
    if (slice_ < slices_ && begin < here) strip.count = here - begin < each ? here - begin : each;
    strip.each = each;
    strip.index = entry + column_ * lanes_ + rank;
    return strip;
  }
  // Calls stage(strip) for this warp's strip of each stage: the same number of times in all lanes
  // of the block.
  template <class Stage>
  KVPAGE_HOST_DEVICE void ForEach(uint32_t rank, Stage stage) const {
    for (uint32_t base = 0; base < num_places_; base += slices_ * lanes_) {
      for (uint32_t entry = 0; entry < longest_; entry += columns_ * lanes_) {
        stage(At(rank, base, entry));
      }
    }
  }

 private:
  uint32_t lanes_;
  uint32_t num_places_;
  uint32_t longest_;
  uint32_t columns_;
  uint32_t slices_;
  uint32_t slice_;
  uint32_t column_;
};

}  // namespace kvpage

#endif  // KVPAGE_CORE_ROW_STRIPS_H_
