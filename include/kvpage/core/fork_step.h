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
    const bool is_full = !LookAtParents(b, strips, row.parent, size, seen);
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
    ShareEntries(b, strips, SpanOf(row), row.parent, seen);
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

  // The entries that a row is to share, in one word: where its own lie in the table, and how many.
  static constexpr uint32_t kCountBits = 20;
  static constexpr uint32_t kCountMask = (1u << kCountBits) - 1;
  KVPAGE_HOST_DEVICE uint64_t SpanOf(const Row& row) const {
    return uint64_t{row.number} * table_.row_blocks() << kCountBits | row.full_blocks;
  }
  KVPAGE_HOST_DEVICE static uint32_t CountOf(uint64_t span) {
    return static_cast<uint32_t>(span) & kCountMask;
  }
  KVPAGE_HOST_DEVICE BlockId* EntriesOf(uint64_t span) const {
    return table_.storage().entries + (span >> kCountBits);
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

  static constexpr uint32_t kAhead = Warp::kMinLanes >= 8 ? 8 : 1;
  // What the warps of a strip know of its parents.
  struct Seen {
    uint32_t parent = 0;      // of the place that this lane speaks for in its warp
    bool has_parent = false;  // there is such a place
    bool is_one = false;      // all places of the strip have one parent
    BlockId id = kNullBlock;  // the entry of that one that this lane looks at
  };
  // Looks at the strip's parents. Collective over the block.
  KVPAGE_HOST_DEVICE Seen LookAt(Block& b, Warp& w, const Strip& strip, uint32_t my_parent) const {
    const auto parents = b.Publish(my_parent);
    Seen seen;
    seen.has_parent = w.rank() < strip.count;
    seen.parent = static_cast<uint32_t>(parents[seen.has_parent ? strip.first + w.rank() : 0]);
    const uint32_t first = w.Shuffle(seen.parent, 0);
    seen.is_one = !w.Any(seen.has_parent && seen.parent != first);
    if (seen.is_one && strip.count > 0 && strip.index < table_.row_blocks()) {
      seen.id = table_.Entry(first, strip.index);
    }
    return seen;
  }
  // A lane's entries of a few of the strip's parents, as far as they have such an entry.
  KVPAGE_HOST_DEVICE void LookAtFew(Warp& w, const Strip& strip, const Seen& seen, uint32_t base,
                                    BlockId (&ids)[kAhead]) const {
    for (uint32_t u = 0; u < kAhead; ++u) {
      const bool is_in = base + u < strip.count;
      const uint32_t parent = w.Shuffle(seen.parent, is_in ? base + u : 0);
      const bool has_entry = is_in && strip.index < table_.row_blocks();
      ids[u] = has_entry ? table_.Entry(parent, strip.index) : kNullBlock;
    }
  }

  // False if a block of a parent may get too many references. `seen`: of the last stage.
  KVPAGE_HOST_DEVICE bool LookAtParents(Block& b, const RowStrips<Block>& strips,
                                        uint32_t my_parent, uint32_t size, Seen& seen) const {
    // Every row of the batch may be about to share the same block.
    const int32_t most = kMaxReferences - static_cast<int32_t>(size);
    bool is_good = true;
    const auto judge = [&](BlockId id) {
      if (id != kNullBlock) is_good &= pool_.words().State(id).references <= most;
    };
    Warp w = b.subgroup();
    strips.ForEach(w.rank(), [&](const Strip& strip) {
      seen = LookAt(b, w, strip, my_parent);
      judge(seen.id);
      for (uint32_t base = 0; !seen.is_one && base < strip.count; base += kAhead) {
        BlockId ids[kAhead];
        LookAtFew(w, strip, seen, base, ids);
        for (uint32_t u = 0; u < kAhead; ++u) judge(ids[u]);
      }
    });
    return is_good;
  }

  // References that rows share together.
  struct Together {
    BlockId id = kNullBlock;
    uint32_t times = 0;
  };

  // `seen`: what LookAtParents has seen, which is all if there is one stage only.
  KVPAGE_HOST_DEVICE void ShareEntries(Block& b, const RowStrips<Block>& strips, uint64_t my_span,
                                       uint32_t my_parent, Seen seen) const {
    constexpr uint32_t kIdShift = 32;
    Warp w = b.subgroup();
    strips.ForEach(w.rank(), [&](const Strip& strip) {
      if (!strips.is_single()) seen = LookAt(b, w, strip, my_parent);
      const auto spans = b.Publish(my_span);
      Together run;
      for (uint32_t base = 0; base < strip.count; base += kAhead) {
        WriteFew(w, spans, strip, seen, base, run);
      }
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

  // Writes the entries of a few rows of the strip; shares the blocks of all but the last run of
  // rows with the same block, which is left to the caller.
  template <class Spans>
  KVPAGE_HOST_DEVICE void WriteFew(Warp& w, const Spans& spans, const Strip& strip,
                                   const Seen& seen, uint32_t base, Together& run) const {
    BlockId* words[kAhead];
    bool exists[kAhead];
    for (uint32_t u = 0; u < kAhead; ++u) {
      const bool is_in = base + u < strip.count;
      const uint64_t span = spans[is_in ? strip.first + base + u : 0];
      words[u] = EntriesOf(span) + strip.index;
      exists[u] = is_in && strip.index < CountOf(span);
    }
    if (seen.is_one) {
      run.id = seen.id;
      for (uint32_t u = 0; u < kAhead; ++u) {
        if (exists[u]) A::StoreRelaxed(words[u], seen.id);
        run.times += exists[u] ? 1 : 0;
      }
      return;
    }
    BlockId ids[kAhead];
    LookAtFew(w, strip, seen, base, ids);
    for (uint32_t u = 0; u < kAhead; ++u) {
      if (!exists[u]) continue;
      if (ids[u] != run.id) {
        Share(run);
        run = {ids[u], 0};
      }
      A::StoreRelaxed(words[u], ids[u]);
      ++run.times;
    }
  }

  // Asks for no copy, also beyond the count.
  KVPAGE_HOST_DEVICE void ClearCopies() const {
    if (batch_.copies == nullptr) return;
    for (uint32_t i = g_.rank(); i < static_cast<uint32_t>(batch_.batch.num_rows); i += g_.size()) {
      batch_.copies[i] = BlockCopy{};
    }
  }

  KVPAGE_HOST_DEVICE void Publish(const Row& row, int32_t tokens) const {
    table_.SetHeldBlocks(row.number, row.full_blocks);
    table_.Publish(row.number, {tokens, row.state.generation, true, false});
  }

  G& g_;
  const BlockPoolRef<A>& pool_;
  const PageTableRef<A>& table_;
  const ForkBatch batch_;
};

}  // namespace kvpage

#endif  // KVPAGE_CORE_FORK_STEP_H_
