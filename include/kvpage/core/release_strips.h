// SPDX-License-Identifier: Apache-2.0
//
// kvpage/core/release_strips.h
//
// Clears and releases entries of the rows that one thread block looks after, in strips
// (row_strips.h): rows that share blocks release them together. For release_step.h, which says what
// becomes of the rows.
//
// Memory ordering: the caller has executed F0 and a Sync; Flush has F1 (docs/design.md, "Block
//   words").
// Cost: per stage two barriers of the thread block; one load and one store per entry; per run of
//   rows that share a block one look and one change of its word.

#ifndef KVPAGE_CORE_RELEASE_STRIPS_H_
#define KVPAGE_CORE_RELEASE_STRIPS_H_

#include <cstdint>
#include <type_traits>
#include <utility>

#include "kvpage/core/block_pool_ref.h"
#include "kvpage/core/freed_blocks.h"
#include "kvpage/core/page_table_ref.h"
#include "kvpage/core/row_batch.h"
#include "kvpage/core/row_strips.h"

namespace kvpage {

template <Atomics A, Group B>
class ReleaseStrips {
  using Warp = std::remove_cvref_t<decltype(std::declval<B&>().subgroup())>;
  static constexpr uint32_t kAhead = Warp::kMinLanes >= 8 ? 8 : 1;
  static constexpr uint32_t kBits = 20;

 public:
  KVPAGE_HOST_DEVICE ReleaseStrips(B& block, const RowStrips<B>& strips,
                                   const BlockPoolRef<A>& pool, const PageTableRef<A>& table,
                                   uint32_t set, const RowBatch& batch, MisusedBy by)
      : b_(block), strips_(strips), pool_(pool), table_(table), set_(set), batch_(batch), by_(by) {}

  // A row's entries to release, in one word: `count` of them from number `begin` on, as where the
  // first one is in the table, and how many.
  static constexpr uint32_t kMostEntries = (1u << kBits) - 1;
  KVPAGE_HOST_DEVICE uint64_t Span(uint32_t row, uint32_t begin, uint32_t count) const {
    return (uint64_t{row} * table_.row_blocks() + begin) << kBits | count;
  }

  // What a lane sees in its strip's first rows, if there is one stage only.
  struct Ahead {
    BlockId ids[kAhead] = {};
  };
  // `my_span`: of the place that this lane looks after, if any. Collective.
  KVPAGE_HOST_DEVICE Ahead LookAhead(uint64_t my_span) const {
    Ahead ahead;
    if (!strips_.is_single()) return ahead;
    const auto spans = b_.Publish(my_span);
    const Strip strip = strips_.At(b_.subgroup().rank(), 0, 0);
    for (uint32_t u = 0; u < kAhead; ++u) {
      const Entry entry = EntryOf(spans, strip, u);
      ahead.ids[u] = entry.exists ? A::LoadRelaxed(entry.word) : kNullBlock;
    }
    return ahead;
  }

  // `my_span`: that of LookAhead, or one of no entries. `first_place`: of this thread block's. A
  // place's status is written where a reference is missing. Collective.
  KVPAGE_HOST_DEVICE void Run(uint64_t my_span, const Ahead& ahead, uint32_t first_place) const {
    strips_.ForEach(b_.subgroup().rank(), [&](const Strip& strip) {
      Warp w = b_.subgroup();
      FreedBlocks<A, Warp> freed(pool_.gate(), pool_.bits(), pool_.pending(), set_, w);
      const auto spans = b_.Publish(my_span);
      const uint32_t of_strip = first_place + strip.first;
      Together run;
      for (uint32_t base = 0; base < strip.count; base += kAhead) {
        ClearRows(w, freed, spans, strip, base, of_strip, ahead, run);
      }
      Merge(w, freed, strip, of_strip, run);
      freed.Flush();
    });
  }

 private:
  struct Entry {
    BlockId* word;
    bool exists;  // the row has it, and it is to be released
  };
  // A lane's entry of place `j` of its strip.
  template <class Spans>
  KVPAGE_HOST_DEVICE Entry EntryOf(const Spans& spans, const Strip& strip, uint32_t j) const {
    const bool is_in = j < strip.count;
    const uint64_t span = spans[is_in ? strip.first + j : 0];
    return {table_.storage().entries + strip.index + (span >> kBits),
            is_in && strip.index < (static_cast<uint32_t>(span) & kMostEntries)};
  }

  // References to one block that rows of a strip release together.
  struct Together {
    BlockId id = kNullBlock;
    uint32_t members = 0;  // one bit for each place of the strip
  };

  // Clears the lane's entries of some rows of the strip; releases all but the last run of rows with
  // the same block, which is left to the caller.
  template <class Spans>
  KVPAGE_HOST_DEVICE void ClearRows(Warp& w, FreedBlocks<A, Warp>& freed, const Spans& spans,
                                    const Strip& strip, uint32_t base, uint32_t place,
                                    const Ahead& ahead, Together& run) const {
    Entry entries[kAhead];
    BlockId ids[kAhead];
    for (uint32_t u = 0; u < kAhead; ++u) entries[u] = EntryOf(spans, strip, base + u);
    if (base == 0 && strips_.is_single()) {
      for (uint32_t u = 0; u < kAhead; ++u) ids[u] = entries[u].exists ? ahead.ids[u] : kNullBlock;
    } else {
      for (uint32_t u = 0; u < kAhead; ++u) {
        ids[u] = entries[u].exists ? A::LoadRelaxed(entries[u].word) : kNullBlock;
      }
    }
    BlockId id = run.id;
    uint32_t members = 0;
    bool is_other = false;
    for (uint32_t u = 0; u < kAhead; ++u) {
      const bool exists = ids[u] != kNullBlock;
      if (exists) A::StoreRelaxed(entries[u].word, kNullBlock);
      id = id == kNullBlock ? ids[u] : id;
      is_other |= exists && ids[u] != id;
      members |= (exists ? 1u : 0u) << (base + u);
    }
    if (!w.Any(is_other)) {
      run.id = id;
      run.members |= members;
      return;
    }
    for (uint32_t u = 0; u < kAhead; ++u) {
      const bool ends = ids[u] != kNullBlock && run.id != kNullBlock && ids[u] != run.id;
      const BlockId ended = run.id;
      if (w.Any(ends)) {
        bool last = false;
        if (ends) {
          const uint32_t look = pool_.words().Look(ended);
          const Dropped all = pool_.words().DropLookedAt(ended, PopCount(run.members), look);
          last = all.status == OpStatus::kOk ? all.last : DropEach(place, ended, run.members);
          run.members = 0;
        }
        freed.Add(last, ended);
      }
      if (ids[u] == kNullBlock) continue;
      run.id = ids[u];
      run.members |= 1u << (base + u);
    }
  }

  // Releases the last runs of all strips. Collective over the block.
  KVPAGE_HOST_DEVICE void Merge(Warp& w, FreedBlocks<A, Warp>& freed, const Strip& strip,
                                uint32_t place, const Together& run) const {
    constexpr uint32_t kIdShift = 32;
    const uint32_t look = run.id != kNullBlock ? pool_.words().Look(run.id) : 0;
    const auto runs = b_.Publish(uint64_t{run.id} << kIdShift | run.members);
    uint32_t times = PopCount(run.members);
    if (strips_.slice() != 0) {
      // The uppermost speaks for those that have the same block.
      const uint64_t uppermost = runs[strips_.LaneOfSlice(0, w.rank())];
      if (uppermost >> kIdShift == run.id) times = 0;
    } else {
      for (uint32_t s = 1; s < strips_.slices(); ++s) {
        const uint64_t other = runs[strips_.LaneOfSlice(s, w.rank())];
        if (other >> kIdShift == run.id) times += PopCount(other & 0xffffffff);
      }
    }
    Dropped all;
    if (times > 0) all = pool_.words().DropLookedAt(run.id, times, look);
    bool last = all.last;
    const bool has_failed = all.status != OpStatus::kOk;
    if (w.Any(has_failed)) {
      // Somebody released a block that was these rows': see which of them come too late.
      if (has_failed) last = DropEach(place, run.id, run.members);
      for (uint32_t s = 1; strips_.slice() == 0 && s < strips_.slices(); ++s) {
        const uint64_t other = runs[strips_.LaneOfSlice(s, w.rank())];
        if (has_failed && other >> kIdShift == run.id) {
          last |= DropEach(place + s * strip.each, run.id, static_cast<uint32_t>(other));
        }
      }
    }
    freed.Add(last, run.id);
  }

  // One by one, and tells those that come too late.
  KVPAGE_HOST_DEVICE bool DropEach(uint32_t place, BlockId id, uint32_t members) const {
    bool last = false;
    for (uint32_t left = members; left != 0; left &= left - 1) {
      const Dropped one = pool_.words().DropBetweenFences(id, 1, kAny);
      last |= one.last;
      if (one.status == OpStatus::kOk) continue;
      const uint32_t its_place = place + LowestBit(left);
      SetSharedStatus<A>(&batch_.statuses[its_place], one.status);
      pool_.mirror().Report({.by = by_,
                             .status = one.status,
                             .place = static_cast<int32_t>(its_place),
                             .row = batch_.rows[its_place],
                             .block = id});
    }
    return last;
  }

  static constexpr uint32_t kAny = BlockPoolRef<A>::kAnyGeneration;

  B& b_;
  const RowStrips<B>& strips_;
  const BlockPoolRef<A>& pool_;
  const PageTableRef<A>& table_;
  const uint32_t set_;
  const RowBatch& batch_;
  const MisusedBy by_;
};

}  // namespace kvpage

#endif  // KVPAGE_CORE_RELEASE_STRIPS_H_
