// SPDX-License-Identifier: Apache-2.0
//
// kvpage/core/export_csr.h
//
// The export of compressed rows. See export_batch.h for what is written.
//
// Two passes, one after the other: Scan, by one group, reads each row's word and says where its
// blocks go; Fill, by any number of workers, writes their names there. Fill goes by what Scan wrote
// and never by the word of a row without a branch, which may have changed since.
//
// Cost: Scan: 2 loads per row and two meetings for each size() rows. Fill: one load and one store
//   per index, and a search in indptr where a worker comes to another row.

#ifndef KVPAGE_CORE_EXPORT_CSR_H_
#define KVPAGE_CORE_EXPORT_CSR_H_

#include <cstdint>

#include "kvpage/core/bits.h"
#include "kvpage/core/export_reader.h"
#include "kvpage/core/place_finder.h"
#include "kvpage/core/row_batch.h"

namespace kvpage {

template <Atomics A>
class ExportCsr {
 public:
  KVPAGE_HOST_DEVICE ExportCsr(const PageTableRef<A>& table, const ExportCsrBatch& batch)
      : batch_(batch), reader_(table, batch.batch, batch.branches) {}

  // Collective.
  template <Group G>
  KVPAGE_HOST_DEVICE void Scan(G& g) const {
    const uint32_t size = CountOrLimit(batch_.batch.count, batch_.batch.num_rows);
    const uint32_t padded = static_cast<uint32_t>(batch_.padded_rows);
    uint64_t base = 0;
    uint64_t limit = ~uint64_t{0};  // where the first row that does not fit begins
    for (uint32_t begin = 0; begin < padded; begin += g.size()) {
      const uint32_t i = begin + g.rank();
      ExportedRow row;
      if (i < size) row = reader_.Look(i);
      const uint32_t num_names = CeilDiv32(row.length, kernel_tokens());
      uint64_t total;
      const uint64_t first = base + g.ExclusiveScan(uint64_t{num_names}, total);
      base += total;
      const bool fits = num_names == 0 || first + num_names <= uint64_t{capacity()};
      const uint64_t unfit = g.Min(fits ? ~uint64_t{0} : first);
      if (unfit < limit) limit = unfit;
      if (!fits) row.Fail(OpStatus::kTableFull);
      if (i < size) batch_.batch.statuses[i] = row.status;
      if (i < padded) WriteRow(i, row, first < limit ? first : limit);
    }
    if (g.rank() == 0) {
      batch_.indptr[padded] = static_cast<int32_t>(base < limit ? base : limit);
    }
  }

  // Worker `worker` of `num_workers` does its part, once Scan is done.
  KVPAGE_HOST_DEVICE void Fill(uint64_t worker, uint64_t num_workers) const {
    const uint32_t kernel_blocks = static_cast<uint32_t>(batch_.naming.kernel_blocks);
    const uint32_t padded = static_cast<uint32_t>(batch_.padded_rows);
    const uint32_t* const offsets = reinterpret_cast<const uint32_t*>(batch_.indptr);
    const uint32_t num_names = offsets[padded];
    PlaceFinder<uint32_t> finder(offsets, padded);
    for (uint64_t at = worker; at < capacity(); at += num_workers) {
      if (at >= num_names) {
        batch_.indices[at] = batch_.naming.sentinel;
        continue;
      }
      const ExportedRow row = reader_.Again(finder.Find(static_cast<uint32_t>(at)));
      const uint32_t within = finder.Within(static_cast<uint32_t>(at));
      const BlockId id = reader_.Block(row, within / kernel_blocks);
      batch_.indices[at] = batch_.naming.Name(id, within % kernel_blocks);
    }
  }

 private:
  KVPAGE_HOST_DEVICE uint32_t kernel_tokens() const {
    return reader_.table().block_tokens() / static_cast<uint32_t>(batch_.naming.kernel_blocks);
  }
  KVPAGE_HOST_DEVICE uint32_t capacity() const {
    return static_cast<uint32_t>(batch_.index_capacity);
  }

  KVPAGE_HOST_DEVICE void WriteRow(uint32_t i, const ExportedRow& row, uint64_t first) const {
    const uint32_t last = row.length % kernel_tokens();
    batch_.indptr[i] = static_cast<int32_t>(first);
    batch_.last_page_len[i] = static_cast<int32_t>(last == 0 ? kernel_tokens() : last);
    if (batch_.lengths != nullptr) batch_.lengths[i] = static_cast<int32_t>(row.length);
  }

  const ExportCsrBatch& batch_;
  const ExportReader<A> reader_;
};

}  // namespace kvpage

#endif  // KVPAGE_CORE_EXPORT_CSR_H_
