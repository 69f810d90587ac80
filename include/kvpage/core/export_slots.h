// SPDX-License-Identifier: Apache-2.0
//
// kvpage/core/export_slots.h
//
// The export of a slot mapping. See export_batch.h for what is written.
//
// Two passes, one after the other: Scan, by one group, numbers the slots; Write, by any number of
// groups, which share the rows out and meet within themselves only, writes them. The numbers depend
// on the arguments alone, so that each row's word is read once, in Write.
//
// Cost: Scan: one scan for each size() rows. Write: one load and one store per slot.

#ifndef KVPAGE_CORE_EXPORT_SLOTS_H_
#define KVPAGE_CORE_EXPORT_SLOTS_H_

#include <cstdint>

#include "kvpage/core/export_reader.h"
#include "kvpage/core/row_batch.h"

namespace kvpage {

template <Atomics A, Group G>
class ExportSlots {
 public:
  KVPAGE_HOST_DEVICE ExportSlots(G& g, const PageTableRef<A>& table, const ExportSlotsBatch& batch)
      : g_(g),
        batch_(batch),
        size_(CountOrLimit(batch.batch.count, batch.batch.num_rows)),
        reader_(table, batch.batch, batch.branches) {}

  // Collective.
  KVPAGE_HOST_DEVICE void Scan() const {
    const uint64_t capacity = static_cast<uint64_t>(batch_.slot_capacity);
    const uint32_t padded = static_cast<uint32_t>(batch_.padded_rows);
    uint64_t base = 0;
    for (uint32_t begin = 0; begin < padded; begin += g_.size()) {
      const uint32_t i = begin + g_.rank();
      uint64_t total;
      const uint64_t first = base + g_.ExclusiveScan(uint64_t{NumSlots(i)}, total);
      if (i < padded) batch_.slot_indptr[i] = AtMost(first, capacity);
      base += total;
    }
    if (g_.rank() == 0) batch_.slot_indptr[padded] = AtMost(base, capacity);
  }

  // Group `index` of `num_groups` writes its rows, and its part of what follows them. Collective.
  KVPAGE_HOST_DEVICE void Write(uint32_t index, uint32_t num_groups) const {
    for (uint32_t i = index; i < size_; i += num_groups) WriteRow(i);
    const uint64_t worker = uint64_t{index} * g_.size() + g_.rank();
    const uint64_t num_workers = uint64_t{num_groups} * g_.size();
    for (uint64_t at = static_cast<uint64_t>(batch_.slot_indptr[batch_.padded_rows]) + worker;
         at < static_cast<uint64_t>(batch_.slot_capacity); at += num_workers) {
      batch_.slots[at] = -1;
    }
  }

 private:
  KVPAGE_HOST_DEVICE static int32_t AtMost(uint64_t n, uint64_t limit) {
    return static_cast<int32_t>(n < limit ? n : limit);
  }
  KVPAGE_HOST_DEVICE uint32_t NumSlots(uint32_t i) const {
    return i < size_ && batch_.tokens[i] > 0 ? static_cast<uint32_t>(batch_.tokens[i]) : 0;
  }

  KVPAGE_HOST_DEVICE void WriteRow(uint32_t i) const {
    ExportedRow row = reader_.LookAll(g_, i);
    const int64_t tokens = batch_.tokens[i];
    const int64_t first =
        batch_.first == nullptr ? int64_t{row.length} - tokens : int64_t{batch_.first[i]};
    const int64_t begin = batch_.slot_indptr[i];
    const bool fits = begin + tokens <= batch_.slot_capacity || tokens == 0;
    if (row.status == OpStatus::kOk &&
        (tokens < 0 || first < 0 || first + tokens > int64_t{row.length} || !fits)) {
      row.Fail(OpStatus::kInvalid);
    }
    if (g_.rank() == 0) batch_.batch.statuses[i] = row.status;
    const int64_t end = fits ? begin + tokens : batch_.slot_capacity;
    for (int64_t at = begin + g_.rank(); at < end; at += g_.size()) {
      batch_.slots[at] = row.status == OpStatus::kOk
                             ? SlotOf(row, static_cast<uint32_t>(first + (at - begin)))
                             : -1;
    }
  }

  KVPAGE_HOST_DEVICE int64_t SlotOf(const ExportedRow& row, uint32_t position) const {
    const uint32_t block_tokens = reader_.table().block_tokens();
    const uint32_t index = position / block_tokens;
    const BlockId id = reader_.Block(row, index);
    if (id == kNullBlock) return -1;
    const int64_t block = int64_t{id} + batch_.id_offset;
    const uint32_t offset = position - index * block_tokens;
    if (batch_.share.world == 1) return block * block_tokens + offset;
    const uint32_t world = static_cast<uint32_t>(batch_.share.world);
    const uint32_t interleave = static_cast<uint32_t>(batch_.share.interleave);
    const uint32_t turn = offset / interleave;
    if (turn % world != static_cast<uint32_t>(batch_.share.rank)) return -1;
    return block * (block_tokens / world) + (turn / world) * interleave + offset % interleave;
  }

  G& g_;
  const ExportSlotsBatch& batch_;
  const uint32_t size_;
  const ExportReader<A> reader_;
};

}  // namespace kvpage

#endif  // KVPAGE_CORE_EXPORT_SLOTS_H_
