// SPDX-License-Identifier: Apache-2.0
//
// kvpage/core/row_batch.h
//
// What the batch operations on rows have in common: which rows are meant, that each is meant once,
// and cancelling a batch of which all or none shall succeed.
//
// An operation runs as one group. Lane r looks after places r, r + size(), ... of the batch, and
// after them alone: it may read back what it wrote for a place without a Sync.
//
// Cost: one atomic minimum, one load and one store per row.

#ifndef KVPAGE_CORE_ROW_BATCH_H_
#define KVPAGE_CORE_ROW_BATCH_H_

#include <cstdint>

#include "kvpage/core/batch.h"
#include "kvpage/core/group.h"
#include "kvpage/core/page_table_ref.h"

namespace kvpage {

// The smaller of a capacity and a count that lies in memory, which may be anything.
KVPAGE_HOST_DEVICE inline uint32_t CountOrLimit(const int32_t* count, int32_t limit) {
  if (count == nullptr) return static_cast<uint32_t>(limit);
  return static_cast<uint32_t>(*count < 0 ? 0 : (*count < limit ? *count : limit));
}

// Sets a status that several lanes may set, without a meeting in between.
template <Atomics A>
KVPAGE_HOST_DEVICE void SetSharedStatus(OpStatus* status, OpStatus value) {
  A::StoreRelaxed(reinterpret_cast<uint8_t*>(status), static_cast<uint8_t>(value));
}

template <Atomics A, Group G>
class RowBatchRun {
 public:
  // Asks for each row in the name of its first mention. IsFirst answers after a Sync, so that other
  // loads can go beside.
  KVPAGE_HOST_DEVICE RowBatchRun(G& g, const PageTableRef<A>& table, const RowBatch& batch)
      : g_(g), table_(table), batch_(batch), size_(CountOrLimit(batch.count, batch.num_rows)) {
    for (uint32_t i = g_.rank(); i < size_; i += g_.size()) {
      if (InTable(batch_.rows[i])) A::FetchMinRelaxed(Claim(i), i);
    }
  }

  KVPAGE_HOST_DEVICE uint32_t size() const { return size_; }
  KVPAGE_HOST_DEVICE uint32_t row(uint32_t i) const {
    return static_cast<uint32_t>(batch_.rows[i]);
  }
  KVPAGE_HOST_DEVICE bool InTable(int32_t row) const {
    return row >= 0 && static_cast<uint32_t>(row) < table_.max_sequences();
  }
  KVPAGE_HOST_DEVICE bool IsRow(uint32_t i) const { return InTable(batch_.rows[i]); }

  // Whether place i, which names row `row` of the table, is the row's first mention in this batch.
  // To be asked once per place, after a Sync: it lets the row go.
  KVPAGE_HOST_DEVICE bool IsFirst(uint32_t i, uint32_t row) const {
    uint32_t* const claim = &table_.storage().claims[row];
    if (A::LoadRelaxed(claim) != i) return false;
    A::StoreRelaxed(claim, PageTableRef<A>::kUnclaimed);
    return true;
  }
  KVPAGE_HOST_DEVICE bool IsFirst(uint32_t i) const { return IsFirst(i, row(i)); }

  // Asks for no copy, also beyond the count: a captured graph carries the whole list out.
  // `each`: entries of a row.
  KVPAGE_HOST_DEVICE void ClearCopies(BlockCopy* copies, uint32_t each) const {
    if (copies == nullptr) return;
    const uint64_t all = uint64_t{static_cast<uint32_t>(batch_.num_rows)} * each;
    for (uint64_t i = g_.rank(); i < all; i += g_.size()) copies[i] = BlockCopy{};
  }

  KVPAGE_HOST_DEVICE OpStatus status(uint32_t i) const { return batch_.statuses[i]; }
  KVPAGE_HOST_DEVICE bool ok(uint32_t i) const { return status(i) == OpStatus::kOk; }
  KVPAGE_HOST_DEVICE void set_status(uint32_t i, OpStatus status) const {
    batch_.statuses[i] = status;
  }
  KVPAGE_HOST_DEVICE bool all_or_none() const { return batch_.failure == FailureMode::kWholeBatch; }

  // Cancels the rows that are fine if the batch is all-or-none and a row is not; whether it did.
  // Collective.
  KVPAGE_HOST_DEVICE bool CancelUnlessAllOk() const {
    if (!all_or_none()) return false;
    bool failed = false;
    for (uint32_t i = g_.rank(); i < size_; i += g_.size()) failed |= !ok(i);
    if (!g_.Any(failed)) return false;
    for (uint32_t i = g_.rank(); i < size_; i += g_.size()) {
      if (ok(i)) set_status(i, OpStatus::kCancelled);
    }
    return true;
  }

 private:
  KVPAGE_HOST_DEVICE uint32_t* Claim(uint32_t i) const {
    return &table_.storage().claims[batch_.rows[i]];
  }

  G& g_;
  const PageTableRef<A>& table_;
  const RowBatch& batch_;
  uint32_t size_;
};

}  // namespace kvpage

#endif  // KVPAGE_CORE_ROW_BATCH_H_
