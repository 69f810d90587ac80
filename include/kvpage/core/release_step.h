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

#include "kvpage/core/draft_entries.h"
#include "kvpage/core/release_strips.h"
#include "kvpage/core/row_agreement.h"

namespace kvpage {

template <Atomics A, Group G>
class ReleaseStep {
 public:
  KVPAGE_HOST_DEVICE ReleaseStep(G& g, const BlockPoolRef<A>& pool, const PageTableRef<A>& table,
                                 const TruncateBatch& batch)
      : g_(g),
        pool_(pool),
        table_(table),
        batch_(batch.batch),
        tokens_(batch.tokens),
        fence_(batch.fence) {}

  KVPAGE_HOST_DEVICE ReleaseStep(G& g, const BlockPoolRef<A>& pool, const PageTableRef<A>& table,
                                 const CloseBatch& batch)
      : g_(g),
        pool_(pool),
        table_(table),
        batch_(batch.batch),
        tokens_(nullptr),
        fence_(batch.fence) {}

  // False, and nothing done, if the batch is too large; then the group is to Sync before it goes
  // the general way. Collective.
  KVPAGE_HOST_DEVICE bool Try() {
    const uint32_t size = CountOrLimit(batch_.count, batch_.num_rows);
    if (g_.size() == 1 || table_.row_blocks() > Release::kMostEntries) return false;
    auto& b = BlocksOf<G>::Mine(g_);
    // Each block finds out for itself whether the rows are all different, so that it need not meet
    // the others; and all find the same.
    const bool is_ascending = IsAscending(b, batch_, size);
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
    const uint32_t set = pool_.pending().ChooseSet(b, fence_);
    const Release release(b, strips, pool_, table_, set, batch_,
                          closes() ? MisusedBy::kClose : MisusedBy::kTruncate);
    const typename Release::Ahead ahead =
        release.LookAhead(release.Span(row.number, row.held - count, count));
    if (meets) {
      row.status = AgreeOnPlace(g_, table_, batch_, is_ascending, is_place, i, row.status);
      if (row.status != OpStatus::kOk) count = 0;
    }
    A::FenceAcqRel();  // F0
    if (is_place) {
      batch_.statuses[i] = row.status;
      if (row.status == OpStatus::kOk) Publish(row);
    }
    b.Sync();  // before another lane's entries are cleared, or its status is set
    release.Run(release.Span(row.number, row.held - count, count), ahead, places.first);
    if (closes() && table_.draft_row_blocks() > 0) {
      const bool has_draft = is_place && row.status == OpStatus::kOk && row.has_draft;
      if (b.Any(has_draft)) DropDrafts(b, set, i, has_draft, row.number);
    }
    return true;
  }

 private:
  using Block = std::remove_reference_t<decltype(BlocksOf<G>::Mine(std::declval<G&>()))>;
  using Release = ReleaseStrips<A, Block>;

  struct Row {
    OpStatus status = OpStatus::kOk;
    uint32_t number = 0;
    SequenceState state;
    uint32_t held = 0;
    uint32_t count = 0;  // blocks to release
    bool has_draft = false;
  };

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
    row.has_draft = row.state.drafting;
    if (row.has_draft && !closes()) row.status = OpStatus::kWrongState;
    const uint32_t keep = CeilDiv32(static_cast<uint32_t>(tokens), table_.block_tokens());
    row.count = row.held > keep ? row.held - keep : 0;
    if (closes()) {
      row.state = {0, row.state.generation + 1, false, false};
    } else if (tokens < row.state.kv_len) {
      row.state.kv_len = tokens;
      ++row.state.generation;
    }
    return row;
  }

  // Behind F0, which releases the entries that the row keeps to whoever reads its new word.
  KVPAGE_HOST_DEVICE void Publish(const Row& row) const {
    if (row.count > 0) table_.SetHeldBlocks(row.number, row.held - row.count);
    table_.Publish(row.number, row.state, true);
  }

  // Private blocks of drafts that were open when their rows were closed. Apart from the common way.
  // Collective over the block.
  KVPAGE_HOST_DEVICE void DropDrafts(Block& b, uint32_t set, uint32_t i, bool has_draft,
                                     uint32_t number) const {
    b.Sync();  // before a status is set that another lane may have set
    auto w = b.subgroup();
    FreedBlocks<A, decltype(w)> freed(pool_.gate(), pool_.bits(), pool_.pending(), set, w);
    if (!DropDraftEntries(w, pool_, table_, has_draft, number, MisusedBy::kClose, freed)) {
      batch_.statuses[i] = OpStatus::kDoubleFree;
    }
    freed.Flush();
  }

  G& g_;
  const BlockPoolRef<A>& pool_;
  const PageTableRef<A>& table_;
  const RowBatch batch_;
  const int32_t* tokens_;
  const Fence fence_;
};

}  // namespace kvpage

#endif  // KVPAGE_CORE_RELEASE_STEP_H_
