// SPDX-License-Identifier: Apache-2.0
//
// kvpage/core/export_table.h
//
// The export of a dense table. See export_batch.h for what is written.
//
// Run by any number of groups, which share the lines of the table out; a group meets within itself
// only. Every word is written once, neighbouring lanes to neighbouring words.
//
// Cost: one read of the row's entries and one write of the line; one Sync per line.

#ifndef KVPAGE_CORE_EXPORT_TABLE_H_
#define KVPAGE_CORE_EXPORT_TABLE_H_

#include <cstdint>

#include "kvpage/core/bits.h"
#include "kvpage/core/export_reader.h"
#include "kvpage/core/row_batch.h"

namespace kvpage {

template <Atomics A, Group G>
class ExportTable {
 public:
  KVPAGE_HOST_DEVICE ExportTable(G& g, const PageTableRef<A>& table, const ExportTableBatch& batch)
      : g_(g), batch_(batch), reader_(table, batch.batch, batch.branches) {}

  // Group `index` of `num_groups` writes its lines. Collective.
  KVPAGE_HOST_DEVICE void Run(uint32_t index, uint32_t num_groups) const {
    const uint32_t size = CountOrLimit(batch_.batch.count, batch_.batch.num_rows);
    const uint32_t kernel_blocks = static_cast<uint32_t>(batch_.naming.kernel_blocks);
    const uint32_t kernel_tokens = reader_.table().block_tokens() / kernel_blocks;
    const uint32_t num_lines = static_cast<uint32_t>(batch_.padded_rows);
    for (uint32_t i = index; i < num_lines; i += num_groups) {
      ExportedRow row;
      if (i < size) row = reader_.LookAll(g_, i);
      uint32_t num_names = CeilDiv32(row.length, kernel_tokens);
      if (num_names > static_cast<uint32_t>(batch_.width)) {
        row.Fail(OpStatus::kTableFull);
        num_names = 0;
      }
      if (g_.rank() == 0) {
        if (i < size) batch_.batch.statuses[i] = row.status;
        if (batch_.lengths != nullptr) batch_.lengths[i] = static_cast<int32_t>(row.length);
      }
      WriteLine(batch_.table + int64_t{i} * batch_.line_stride, row, num_names, kernel_blocks);
    }
  }

 private:
  // So many loads of a lane are under way at once.
  static constexpr uint32_t kAtOnce = 4;

  KVPAGE_HOST_DEVICE void WriteLine(int32_t* line, const ExportedRow& row, uint32_t num_names,
                                    uint32_t kernel_blocks) const {
    const uint32_t width = static_cast<uint32_t>(batch_.width);
    for (uint64_t begin = g_.rank(); begin < width; begin += uint64_t{kAtOnce} * g_.size()) {
      BlockId ids[kAtOnce];
      for (uint32_t u = 0; u < kAtOnce; ++u) {
        const uint64_t at = begin + uint64_t{u} * g_.size();
        ids[u] = kNullBlock;
        if (at < num_names) {
          ids[u] = reader_.Block(row, static_cast<uint32_t>(at) / kernel_blocks);
        }
      }
      for (uint32_t u = 0; u < kAtOnce; ++u) {
        const uint64_t at = begin + uint64_t{u} * g_.size();
        if (at < width) {
          line[at] = batch_.naming.Name(ids[u], static_cast<uint32_t>(at) % kernel_blocks);
        }
      }
    }
  }

  G& g_;
  const ExportTableBatch& batch_;
  const ExportReader<A> reader_;
};

}  // namespace kvpage

#endif  // KVPAGE_CORE_EXPORT_TABLE_H_
