// SPDX-License-Identifier: Apache-2.0
//
// kvpage/core/fork_step.h
//
// The short way of Fork for children that share full blocks only, no more of them than lanes: each
// lane keeps its row in registers, each thread block looks once at the entries of its parents
// (row_strips.h), the group meets once, and then the children's entries are stores and the
// references one addition for each block of a run of children of one parent. Answers what the
// general way (fork_rows.h) would.
//
// Run by one group; collective. Rows in ascending order need no claims; others cost two meetings
// more.
//
// Cost: two dependent accesses to a row, one to its parent's entries and one to their blocks'
//   words; one store per entry; one addition per thread block, run and block.

#ifndef KVPAGE_CORE_FORK_STEP_H_
#define KVPAGE_CORE_FORK_STEP_H_

#include <cstdint>
#include <type_traits>
#include <utility>

#include "kvpage/core/block_pool_ref.h"
#include "kvpage/core/row_agreement.h"
#include "kvpage/core/row_strips.h"

namespace kvpage {

template <Atomics A, Group G>
class ForkStep {
 public:
  KVPAGE_HOST_DEVICE ForkStep(G& g, const BlockPoolRef<A>& pool, const PageTableRef<A>& table,
                              const ForkBatch& batch)
      : g_(g), pool_(pool), table_(table), batch_(batch) {}

  // False, and nothing done, if a child needs a block for its tail, a block might get too many
  // references, or the batch is too large; then the group is to Sync before it goes the general
  // way. Collective.
  KVPAGE_HOST_DEVICE bool Try() {
    const uint32_t size = CountOrLimit(batch_.batch.count, batch_.batch.num_rows);
    if (g_.size() == 1 || size > g_.size() || table_.row_blocks() > kCountMask) return false;
    const BlockPlaces places = PlacesOf(BlocksOf<G>::Index(g_), BlocksOf<G>::Count(g_), size);
    auto& b = BlocksOf<G>::Mine(g_);
    const bool is_place = b.rank() < places.count;
    const uint32_t i = places.first + b.rank();
    Row row;
    if (is_place) row = Look(i);
    const RowStrips<Block> strips(b, places.count, ~b.Min(~row.full_blocks));
    Seen seen;
    const bool is_full = !LookAtParents(b, strips, SpanOf(row), size, seen);
    // The row's own words have come meanwhile.
    if (is_place) Judge(row, i);

    const bool is_failure = is_place && row.status != OpStatus::kOk;
    const bool is_other = row.has_tail || is_full;
    if (SyncAny(g_, is_other || row.is_unordered || is_failure)) {
      if (g_.Any(is_other)) return false;
      row.status = AgreeOnPlace(g_, table_, batch_.batch, !g_.Any(row.is_unordered), is_place, i,
                                row.status);
      if (row.status != OpStatus::kOk) row.full_blocks = 0;
    }
    ShareEntries(b, strips, SpanOf(row), seen);
    ClearCopies();
    b.Sync();  // before rows are published whose entries other lanes have written
    if (is_place) {
      batch_.batch.statuses[i] = row.status;
      if (row.status == OpStatus::kOk) Publish(row, batch_.tokens[i]);
    }
    return true;
  }

 private:
  using Block = std::remove_reference_t<decltype(BlocksOf<G>::Mine(std::declval<G&>()))>;

  using Warp = std::remove_cvref_t<decltype(std::declval<Block&>().subgroup())>;

  struct Row {
    OpStatus status = OpStatus::kOk;
    bool is_unordered = false;  // it may be another mention of an earlier row
    bool has_tail = false;      // whether its last block is not a full one; later, to be copied
    bool is_valid = false;      // its numbers are in range
    uint32_t number = 0;
    uint32_t parent = 0;
    SequenceState state;
    SequenceState parent_state;
    uint32_t full_blocks = 0;  // to share
  };

  // The entries a row is to share, in one word: the row, its parent, and how many.
  static constexpr uint32_t kCountMask = (1u << 16) - 1;
  static constexpr uint32_t kRowMask = (1u << 24) - 1;
  static constexpr uint32_t kParentShift = 16;
  static constexpr uint32_t kRowShift = 40;
  KVPAGE_HOST_DEVICE static uint64_t SpanOf(const Row& row) {
    return uint64_t{row.number} << kRowShift | uint64_t{row.parent} << kParentShift |
           row.full_blocks;
  }
  KVPAGE_HOST_DEVICE static uint32_t RowOf(uint64_t span) {
    return static_cast<uint32_t>(span >> kRowShift);
  }
  KVPAGE_HOST_DEVICE static uint32_t ParentOf(uint64_t span) {
    return static_cast<uint32_t>(span >> kParentShift) & kRowMask;
  }
  KVPAGE_HOST_DEVICE static uint32_t CountOf(uint64_t span) {
    return static_cast<uint32_t>(span) & kCountMask;
  }

  KVPAGE_HOST_DEVICE bool InTable(int32_t row) const {
    return row >= 0 && static_cast<uint32_t>(row) < table_.max_sequences();
  }

  KVPAGE_HOST_DEVICE Row Look(uint32_t i) const {
    Row row;
    const int32_t number = batch_.batch.rows[i];
    const int32_t parent = batch_.parents[i];
    const int32_t tokens = batch_.tokens[i];
    row.is_unordered = i > 0 && batch_.batch.rows[i - 1] >= number;
    row.is_valid = InTable(number) && InTable(parent) && tokens >= 0;
    if (!row.is_valid) return row;
    row.number = static_cast<uint32_t>(number);
    row.parent = static_cast<uint32_t>(parent);
    row.state = table_.OwnSequence(row.number);
    row.parent_state = table_.OwnSequence(row.parent);
    const uint32_t full_blocks = static_cast<uint32_t>(tokens) / table_.block_tokens();
    row.has_tail = full_blocks * table_.block_tokens() != static_cast<uint32_t>(tokens);
    // Too many will be seen to be wrong; meanwhile no more are looked at than a row has.
    row.full_blocks = full_blocks < table_.row_blocks() ? full_blocks : table_.row_blocks();
    return row;
  }
  KVPAGE_HOST_DEVICE void Judge(Row& row, uint32_t i) const {
    const bool has_tail = row.has_tail;
    row.has_tail = false;
    row.status = OpStatus::kInvalid;
    if (!row.is_valid) return;
    if (row.state.open) {
      row.status = OpStatus::kWrongState;
    } else if (!row.parent_state.open) {
      row.status = OpStatus::kClosed;
    } else if (batch_.tokens[i] <= row.parent_state.kv_len) {
      row.has_tail = has_tail && batch_.copies != nullptr;
      row.status = has_tail && !row.has_tail ? OpStatus::kWrongState : OpStatus::kOk;
    }
  }

  // What the only stage has shown of the parents, if there is only one.
  struct Seen {
    bool has_looked = false;
    bool has_one_parent = false;
    BlockId id = kNullBlock;  // its entry, if there is one parent
  };
  // Whether all rows of a strip have one parent. Collective over the subgroup.
  template <class Spans>
  KVPAGE_HOST_DEVICE static bool HasOneParent(Warp& w, const Spans& spans, const Strip& strip) {
    const bool is_in = w.rank() < strip.count;
    const uint32_t parent = ParentOf(spans[is_in ? strip.first + w.rank() : 0]);
    const uint32_t first = w.Shuffle(parent, 0);
    return !w.Any(is_in && parent != first);
  }
  static constexpr uint32_t kAhead = Warp::kMinLanes >= 8 ? 8 : 1;
  // A few rows of a strip: which they are, and the blocks that they are to share as the entry that
  // this lane looks at.
  struct Few {
    uint32_t rows[kAhead];
    BlockId ids[kAhead];
  };
  template <class Spans>
  KVPAGE_HOST_DEVICE Few LookAtFew(const Spans& spans, const Strip& strip, uint32_t base) const {
    Few few;
    for (uint32_t u = 0; u < kAhead; ++u) {
      const bool is_in = base + u < strip.count;
      const uint64_t span = spans[is_in ? strip.first + base + u : 0];
      const bool has_entry = is_in && strip.index < CountOf(span);
      few.rows[u] = RowOf(span);
      few.ids[u] = has_entry ? table_.Entry(ParentOf(span), strip.index) : kNullBlock;
    }
    return few;
  }
  // The entry that this lane looks at of the one parent of all rows of a strip.
  template <class Spans>
  KVPAGE_HOST_DEVICE BlockId LookAtOne(const Spans& spans, const Strip& strip) const {
    const uint64_t first = spans[strip.count > 0 ? strip.first : 0];
    const bool has_entry = strip.count > 0 && strip.index < table_.row_blocks();
    return has_entry ? table_.Entry(ParentOf(first), strip.index) : kNullBlock;
  }

  // False if a block of a parent may get too many references.
  KVPAGE_HOST_DEVICE bool LookAtParents(Block& b, const RowStrips<Block>& strips, uint64_t my_span,
                                        uint32_t size, Seen& seen) const {
    // Every row of the batch may be about to share the same block.
    const int32_t most = kMaxReferences - static_cast<int32_t>(size);
    bool is_good = true;
    const auto judge = [&](BlockId id) {
      if (id != kNullBlock) is_good &= pool_.words().State(id).references <= most;
    };
    Warp w = b.subgroup();
    strips.ForEach(w.rank(), [&](const Strip& strip) {
      const auto spans = b.Publish(my_span);
      seen.has_looked = strips.is_single();
      seen.has_one_parent = HasOneParent(w, spans, strip);
      if (seen.has_one_parent) {
        seen.id = LookAtOne(spans, strip);
        judge(seen.id);
        return;
      }
      for (uint32_t base = 0; base < strip.each; base += kAhead) {
        const Few few = LookAtFew(spans, strip, base);
        for (uint32_t u = 0; u < kAhead; ++u) judge(few.ids[u]);
      }
    });
    return is_good;
  }

  // References that rows share together.
  struct Together {
    BlockId id = kNullBlock;
    uint32_t times = 0;
  };

  KVPAGE_HOST_DEVICE void ShareEntries(Block& b, const RowStrips<Block>& strips, uint64_t my_span,
                                       const Seen& seen) const {
    constexpr uint32_t kIdShift = 32;
    Warp w = b.subgroup();
    strips.ForEach(w.rank(), [&](const Strip& strip) {
      const auto spans = b.Publish(my_span);
      Together run = WriteStrip(w, spans, strip, seen);
      const auto runs = b.Publish(uint64_t{run.id} << kIdShift | run.times);
      if (strips.slice() != 0) {
        // The uppermost speaks for those that have the same block.
        if (runs[strips.LaneOfSlice(0, w.rank())] >> kIdShift == run.id) return;
      } else {
        for (uint32_t s = 1; s < strips.slices(); ++s) {
          const uint64_t other = runs[strips.LaneOfSlice(s, w.rank())];
          if (other >> kIdShift == run.id) run.times += static_cast<uint32_t>(other);
        }
      }
      Share(run);
    });
  }
  // The parent holds the block, so it cannot go away; too many references were ruled out.
  KVPAGE_HOST_DEVICE void Share(const Together& run) const {
    if (run.times > 0) pool_.words().ShareHeld(run.id, run.times);
  }

  // Writes the strip's entries; shares the blocks of all but the last run of rows with the same
  // block, which is left to the caller.
  template <class Spans>
  KVPAGE_HOST_DEVICE Together WriteStrip(Warp& w, const Spans& spans, const Strip& strip,
                                         const Seen& seen) const {
    Together run;
    if (seen.has_looked ? seen.has_one_parent : HasOneParent(w, spans, strip)) {
      run.id = seen.has_looked ? seen.id : LookAtOne(spans, strip);
      for (uint32_t j = 0; j < strip.each; ++j) {
        const bool is_in = j < strip.count;
        const uint64_t span = spans[is_in ? strip.first + j : 0];
        if (!is_in || strip.index >= CountOf(span)) continue;
        table_.SetEntry(RowOf(span), strip.index, run.id);
        ++run.times;
      }
      return run;
    }
    for (uint32_t base = 0; base < strip.each; base += kAhead) {
      const Few few = LookAtFew(spans, strip, base);
      for (uint32_t u = 0; u < kAhead; ++u) {
        if (few.ids[u] == kNullBlock) continue;
        if (few.ids[u] != run.id) {
          Share(run);
          run = {few.ids[u], 0};
        }
        table_.SetEntry(few.rows[u], strip.index, few.ids[u]);
        ++run.times;
      }
    }
    return run;
  }

  // Asks for no copy, also beyond the count.
  KVPAGE_HOST_DEVICE void ClearCopies() const {
    if (batch_.copies == nullptr) return;
    for (uint32_t i = g_.rank(); i < static_cast<uint32_t>(batch_.batch.num_rows); i += g_.size()) {
      batch_.copies[i] = BlockCopy{};
    }
  }

  KVPAGE_HOST_DEVICE void Publish(const Row& row, int32_t tokens) const {
    table_.storage().held_blocks[row.number] = row.full_blocks;
    table_.Publish(row.number, {tokens, row.state.generation, true});
  }

  G& g_;
  const BlockPoolRef<A>& pool_;
  const PageTableRef<A>& table_;
  const ForkBatch batch_;
};

}  // namespace kvpage

#endif  // KVPAGE_CORE_FORK_STEP_H_
