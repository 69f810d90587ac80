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
// Cost: one fetch-min and one store per row.

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

template <Atomics A, Group G>
class RowBatchRun {
 public:
  // Claims each row for its first mention. Collective.
  KVPAGE_HOST_DEVICE RowBatchRun(G& g, const PageTableRef<A>& table, const RowBatch& batch)
      : g_(g), table_(table), batch_(batch), size_(CountOrLimit(batch.count, batch.num_rows)) {
    for (uint32_t i = g_.rank(); i < size_; i += g_.size()) {
      if (InTable(batch_.rows[i])) A::FetchMinRelaxed(Claim(i), i);
    }
    g_.Sync();
  }

  KVPAGE_HOST_DEVICE uint32_t size() const { return size_; }
  KVPAGE_HOST_DEVICE uint32_t row(uint32_t i) const {
    return static_cast<uint32_t>(batch_.rows[i]);
  }
  KVPAGE_HOST_DEVICE bool InTable(int32_t row) const {
    return row >= 0 && static_cast<uint32_t>(row) < table_.max_sequences();
  }

  // Whether place i names a row of the table, for the first time in this batch.
  KVPAGE_HOST_DEVICE bool IsValid(uint32_t i) const {
    return InTable(batch_.rows[i]) && A::LoadRelaxed(Claim(i)) == i;
  }
  // Lets the rows go; after every lane is done with IsValid.
  KVPAGE_HOST_DEVICE void Unclaim() const {
    for (uint32_t i = g_.rank(); i < size_; i += g_.size()) {
      if (IsValid(i)) A::StoreRelaxed(Claim(i), PageTableRef<A>::kUnclaimed);
    }
  }

  // Asks for no copy, also beyond the count: a captured graph carries the whole list out.
  KVPAGE_HOST_DEVICE void ClearCopies(BlockCopy* copies) const {
    if (copies == nullptr) return;
    for (uint32_t i = g_.rank(); i < static_cast<uint32_t>(batch_.num_rows); i += g_.size()) {
      copies[i] = BlockCopy{};
    }
  }

  KVPAGE_HOST_DEVICE OpStatus status(uint32_t i) const { return batch_.statuses[i]; }
  KVPAGE_HOST_DEVICE bool ok(uint32_t i) const { return status(i) == OpStatus::kOk; }
  KVPAGE_HOST_DEVICE void set_status(uint32_t i, OpStatus status) const {
    batch_.statuses[i] = status;
  }
  KVPAGE_HOST_DEVICE bool all_or_none() const { return batch_.failure == FailureMode::kWholeBatch; }

  // Cancels the rows that are fine if the batch is all-or-none and a row is not. Collective.
  KVPAGE_HOST_DEVICE void CancelUnlessAllOk() const {
    if (!all_or_none()) return;
    bool failed = false;
    for (uint32_t i = g_.rank(); i < size_; i += g_.size()) failed |= !ok(i);
    if (!g_.Any(failed)) return;
    for (uint32_t i = g_.rank(); i < size_; i += g_.size()) {
      if (ok(i)) set_status(i, OpStatus::kCancelled);
    }
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

// Finds the place that item `at` belongs to, in an exclusive scan of how many items each place has.
// Remembers the last answer, so that a run of items costs one search.
template <class T>
class PlaceFinder {
 public:
  KVPAGE_HOST_DEVICE PlaceFinder(const T* offsets, uint32_t size)
      : offsets_(offsets), size_(size) {}

  KVPAGE_HOST_DEVICE uint32_t Find(T at) {
    if (at >= begin_ && at < end_) return place_;
    uint32_t low = 0;
    for (uint32_t high = size_; high - low > 1;) {
      const uint32_t middle = low + (high - low) / 2;
      (offsets_[middle] <= at ? low : high) = middle;
    }
    place_ = low;
    begin_ = offsets_[low];
    end_ = low + 1 < size_ ? offsets_[low + 1] : ~T{0};
    return place_;
  }
  // Number of the item within its place.
  KVPAGE_HOST_DEVICE uint32_t Within(T at) const { return static_cast<uint32_t>(at - begin_); }

 private:
  const T* offsets_;
  uint32_t size_;
  uint32_t place_ = 0;
  T begin_ = 1;
  T end_ = 0;
};

}  // namespace kvpage

#endif  // KVPAGE_CORE_ROW_BATCH_H_
