// SPDX-License-Identifier: Apache-2.0
//
// kvpage/core/release_step.h
//
// The short way of Truncate and Close, for no more rows than lanes: each lane keeps its row in
// registers from the only look to the store that publishes it, and each thread block clears and
// releases the entries of its own rows (row_strips.h). Answers what the general way
// (release_rows.h) would.
//
// Run by one group, or by the same groups in all thread blocks of a grid; collective. The lanes of
// different thread blocks have met since they used the rows' blocks (a launch is a meeting): where
// the rows are in ascending order, and one that fails does not concern the others, they do not meet
// here. Other batches are done by the first group, which meets for them.
//
// Cost: each block reads all numbers of rows; two dependent accesses to a row, one to its entries,
//   one look and one change of each block's word per thread block and run of rows that share it.

#ifndef KVPAGE_CORE_RELEASE_STEP_H_
#define KVPAGE_CORE_RELEASE_STEP_H_

#include <cstdint>
#include <type_traits>
#include <utility>

#include "kvpage/core/block_pool_ref.h"
#include "kvpage/core/freed_blocks.h"
#include "kvpage/core/row_batch.h"
#include "kvpage/core/row_strips.h"

namespace kvpage {

template <Atomics A, Group G>
class ReleaseStep {
 public:
  KVPAGE_HOST_DEVICE ReleaseStep(G& g, const BlockPoolRef<A>& pool, const PageTableRef<A>& table,
                                 const TruncateBatch& batch)
      : g_(g), pool_(pool), table_(table), batch_(batch.batch), tokens_(batch.tokens) {}

  KVPAGE_HOST_DEVICE ReleaseStep(G& g, const BlockPoolRef<A>& pool, const PageTableRef<A>& table,
                                 const CloseBatch& batch)
      : g_(g), pool_(pool), table_(table), batch_(batch.batch), tokens_(nullptr) {}

  // False, and nothing done, if the batch is too large; then the group is to Sync before it goes
  // the general way. Collective.
  KVPAGE_HOST_DEVICE bool Try() {
    const uint32_t size = CountOrLimit(batch_.count, batch_.num_rows);
    if (g_.size() == 1 || table_.row_blocks() > kCountMask) return false;
    auto& b = BlocksOf<G>::Mine(g_);
    // Each block finds out for itself whether the rows are all different, so that it need not meet
    // the others; and all find the same.
    const bool is_ascending = IsAscending(b, size);
    const bool meets = !is_ascending || batch_.failure == FailureMode::kWholeBatch;
    uint32_t block = GridOf<G>::Index(g_);
    uint32_t num_blocks = GridOf<G>::Count(g_);
    if (meets) {
      num_blocks = BlocksOf<G>::Count(g_);
      if (size > num_blocks * b.size()) return false;
      if (block >= num_blocks) return true;  // the first group does it all
    }
    if (size > num_blocks * b.size()) return false;
    const BlockPlaces places = PlacesOf(block, num_blocks, size);
    const bool is_place = b.rank() < places.count;
    const uint32_t i = places.first + b.rank();
    Row row;
    if (is_place) row = Look(i);
    uint32_t count = row.status == OpStatus::kOk ? row.count : 0;
    const RowStrips<Block> strips(b, places.count, ~b.Min(~count));
    Ahead ahead;
    const bool has_looked = strips.is_single();
    if (has_looked) LookAhead(b, strips, SpanOf(row, count), ahead);
    if (meets) {
      row.status = Agree(is_ascending, is_place, i, row);
      if (row.status != OpStatus::kOk) count = 0;
    }
    if (is_place) {
      batch_.statuses[i] = row.status;
      if (row.status == OpStatus::kOk) Publish(row);
    }
    A::FenceAcqRel();  // F0
    b.Sync();          // before another lane's entries are cleared, or its status is set
    ReleaseEntries(b, places, strips, SpanOf(row, count), has_looked, ahead);
    return true;
  }

 private:
  using Block = std::remove_reference_t<decltype(BlocksOf<G>::Mine(std::declval<G&>()))>;
  using Warp = std::remove_cvref_t<decltype(std::declval<Block&>().subgroup())>;

  struct Row {
    OpStatus status = OpStatus::kOk;
    uint32_t number = 0;
    SequenceState state;
    uint32_t held = 0;
    uint32_t count = 0;  // blocks to release
  };

  // A row's entries to release, in one word: its number, the first of them, and how many.
  static constexpr uint32_t kCountBits = 20;
  static constexpr uint32_t kCountMask = (1u << kCountBits) - 1;
  static constexpr uint32_t kBeginShift = kCountBits;
  static constexpr uint32_t kRowShift = 2 * kCountBits;
  KVPAGE_HOST_DEVICE static uint64_t SpanOf(const Row& row, uint32_t count) {
    return uint64_t{row.number} << kRowShift | uint64_t{row.held - count} << kBeginShift | count;
  }

  KVPAGE_HOST_DEVICE bool closes() const { return tokens_ == nullptr; }
  KVPAGE_HOST_DEVICE bool InTable(int32_t row) const {
    return row >= 0 && static_cast<uint32_t>(row) < table_.max_sequences();
  }

  KVPAGE_HOST_DEVICE Row Look(uint32_t i) const {
    Row row;
    const int32_t number = batch_.rows[i];
    const int32_t tokens = closes() ? 0 : tokens_[i];
    row.status = OpStatus::kInvalid;
    if (!InTable(number)) return row;
    row.number = static_cast<uint32_t>(number);
    row.state = table_.OwnSequence(row.number);
    row.held = table_.storage().held_blocks[row.number];
    if (tokens < 0) return row;
    row.status = row.state.open ? OpStatus::kOk : OpStatus::kClosed;
    const uint32_t keep = CeilDiv32(static_cast<uint32_t>(tokens), table_.block_tokens());
    row.count = row.held > keep ? row.held - keep : 0;
    if (closes()) {
      row.state = {0, row.state.generation + 1, false};
    } else if (tokens < row.state.kv_len) {
      row.state.kv_len = tokens;
    }
    return row;
  }

  // Collective over the block.
  KVPAGE_HOST_DEVICE bool IsAscending(Block& b, uint32_t size) const {
    bool is_ascending = true;
    for (uint32_t i = b.rank() + 1; i < size; i += b.size()) {
      is_ascending &= batch_.rows[i - 1] < batch_.rows[i];
    }
    return !b.Any(!is_ascending);
  }

  // What becomes of a place where rows are not in ascending order, or all or none is to succeed.
  // Collective.
  KVPAGE_HOST_DEVICE OpStatus Agree(bool is_ascending, bool is_place, uint32_t i, const Row& row) {
    OpStatus status = row.status;
    if (!is_ascending) {
      const RowBatchRun<A, G> rows(g_, table_, batch_);
      g_.Sync();  // before IsFirst
      if (is_place && (!rows.IsRow(i) || !rows.IsFirst(i))) status = OpStatus::kInvalid;
    }
    if (batch_.failure == FailureMode::kWholeBatch) {
      const bool is_failure = is_place && status != OpStatus::kOk;
      if (g_.Any(is_failure) && status == OpStatus::kOk) status = OpStatus::kCancelled;
    }
    return status;
  }

  // A relaxed store: nothing that its readers may look at has changed.
  KVPAGE_HOST_DEVICE void Publish(const Row& row) const {
    if (row.count > 0) table_.storage().held_blocks[row.number] = row.held - row.count;
    table_.PublishBehindFence(row.number, row.state);
  }

  // A lane's entries of some rows of a strip.
  static constexpr uint32_t kAhead = Warp::kMinLanes >= 8 ? 8 : 1;
  struct Ahead {
    BlockId ids[kAhead];
  };
  // The word of a lane's entry of place `j` of its strip; null if that row has no such entry.
  template <class Spans>
  KVPAGE_HOST_DEVICE BlockId* EntryOf(const Spans& spans, const Strip& strip, uint32_t j) const {
    const bool is_in = j < strip.count;
    const uint64_t span = spans[is_in ? strip.first + j : 0];
    if (!is_in || strip.index >= (span & kCountMask)) return nullptr;
    const uint32_t entry = (static_cast<uint32_t>(span >> kBeginShift) & kCountMask) + strip.index;
    const uint32_t row = static_cast<uint32_t>(span >> kRowShift);
    return &table_.storage().entries[uint64_t{row} * table_.row_blocks() + entry];
  }
  // Looks at the first entries of the only stage before the group meets.
  KVPAGE_HOST_DEVICE void LookAhead(Block& b, const RowStrips<Block>& strips, uint64_t my_span,
                                    Ahead& ahead) const {
    const auto spans = b.Publish(my_span);
    const Strip strip = strips.At(b.subgroup().rank(), 0, 0);
    for (uint32_t u = 0; u < kAhead; ++u) {
      const BlockId* const entry = EntryOf(spans, strip, u);
      ahead.ids[u] = entry != nullptr ? A::LoadRelaxed(entry) : kNullBlock;
    }
  }

  KVPAGE_HOST_DEVICE void ReleaseEntries(Block& b, const BlockPlaces& places,
                                         const RowStrips<Block>& strips, uint64_t my_span,
                                         bool has_looked, const Ahead& ahead) const {
    const uint32_t rank = b.subgroup().rank();
    strips.ForEach(rank, [&](const Strip& strip) {
      Warp w = b.subgroup();
      FreedBlocks<A, Warp> freed(pool_.gate(), pool_.bits(), w);
      const auto spans = b.Publish(my_span);
      const uint32_t first = places.first + strip.first;
      Together run;
      for (uint32_t base = 0; base < strip.each; base += kAhead) {
        ClearRows(w, freed, spans, strip, base, first, base == 0 && has_looked, ahead, run);
      }
      Merge(b, w, freed, strips, strip, first, run);
      freed.Flush();
    });
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
                                    const Strip& strip, uint32_t base, uint32_t first_place,
                                    bool has_looked, const Ahead& ahead, Together& run) const {
    BlockId* entries[kAhead];
    BlockId ids[kAhead];
    for (uint32_t u = 0; u < kAhead; ++u) {
      entries[u] = EntryOf(spans, strip, base + u);
      ids[u] = kNullBlock;
      if (entries[u] != nullptr) ids[u] = has_looked ? ahead.ids[u] : A::LoadRelaxed(entries[u]);
    }
    BlockId id = run.id;
    uint32_t members = 0;
    bool is_other = false;
    for (uint32_t u = 0; u < kAhead; ++u) {
      if (ids[u] == kNullBlock) continue;
      A::StoreRelaxed(entries[u], kNullBlock);
      if (id == kNullBlock) id = ids[u];
      is_other |= ids[u] != id;
      members |= 1u << (base + u);
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
          last = all.status == OpStatus::kOk ? all.last : DropEach(first_place, ended, run.members);
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
  KVPAGE_HOST_DEVICE void Merge(Block& b, Warp& w, FreedBlocks<A, Warp>& freed,
                                const RowStrips<Block>& strips, const Strip& strip,
                                uint32_t first_place, const Together& run) const {
    constexpr uint32_t kIdShift = 32;
    const uint32_t look = run.id != kNullBlock ? pool_.words().Look(run.id) : 0;
    const auto runs = b.Publish(uint64_t{run.id} << kIdShift | run.members);
    uint32_t times = PopCount(run.members);
    if (strips.slice() != 0) {
      // The uppermost speaks for those that have the same block.
      const uint64_t uppermost = runs[strips.LaneOfSlice(0, w.rank())];
      if (uppermost >> kIdShift == run.id) times = 0;
    } else {
      for (uint32_t s = 1; s < strips.slices(); ++s) {
        const uint64_t other = runs[strips.LaneOfSlice(s, w.rank())];
        if (other >> kIdShift == run.id) times += PopCount(other & 0xffffffff);
      }
    }
    Dropped all;
    if (times > 0) all = pool_.words().DropLookedAt(run.id, times, look);
    bool last = all.last;
    const bool has_failed = all.status != OpStatus::kOk;
    if (w.Any(has_failed)) {
      // Somebody released a block that was these rows': see which of them come too late.
      if (has_failed) last = DropEach(first_place, run.id, run.members);
      for (uint32_t s = 1; strips.slice() == 0 && s < strips.slices(); ++s) {
        const uint64_t other = runs[strips.LaneOfSlice(s, w.rank())];
        if (has_failed && other >> kIdShift == run.id) {
          last |= DropEach(first_place + s * strip.each, run.id, static_cast<uint32_t>(other));
        }
      }
    }
    freed.Add(last, run.id);
  }

  // One by one, and tells those that come too late.
  KVPAGE_HOST_DEVICE bool DropEach(uint32_t first_place, BlockId id, uint32_t members) const {
    bool last = false;
    for (uint32_t left = members; left != 0; left &= left - 1) {
      const Dropped one = pool_.words().DropBetweenFences(id, 1, kAny);
      last |= one.last;
      if (one.status != OpStatus::kOk) {
        batch_.statuses[first_place + LowestBit(left)] = one.status;
      }
    }
    return last;
  }

  static constexpr uint32_t kAny = BlockPoolRef<A>::kAnyGeneration;

  G& g_;
  const BlockPoolRef<A>& pool_;
  const PageTableRef<A>& table_;
  const RowBatch batch_;
  const int32_t* tokens_;
};

}  // namespace kvpage

#endif  // KVPAGE_CORE_RELEASE_STEP_H_
