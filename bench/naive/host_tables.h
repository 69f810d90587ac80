// SPDX-License-Identifier: Apache-2.0
//
// bench/naive/host_tables.h
//
// The block allocator and page table of a server without kvpage, on one thread of its host: a
// vector of free ids used as a stack, and the ids of each row. No lock, no checks, no reference
// counts: less than servers do. A row only grows until all are closed; blocks behind a rejected
// draft stay with their row, whose next draft wants them again.

#ifndef KVPAGE_BENCH_NAIVE_HOST_TABLES_H_
#define KVPAGE_BENCH_NAIVE_HOST_TABLES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace kvpage::bench {

class HostTables {
 public:
  // Every row can have `row_blocks` blocks, so there are always enough.
  HostTables(int32_t rows, int32_t row_blocks, int32_t block_tokens)
      : row_blocks_(row_blocks),
        block_tokens_(block_tokens),
        free_(static_cast<size_t>(rows) * row_blocks),
        ids_(free_.size()),
        held_(rows) {
    std::iota(free_.rbegin(), free_.rend(), 1);
  }

  // Sees that the row has blocks for so many tokens, at most row_blocks of them.
  void Cover(int32_t row, int32_t tokens) {
    const int32_t wanted = (tokens + block_tokens_ - 1) / block_tokens_;
    for (; held_[row] < wanted; ++held_[row]) {
      ids_[Place(row, held_[row])] = free_.back();
      free_.pop_back();
    }
  }
  void CloseAll() {
    for (int32_t row = 0; row < static_cast<int32_t>(held_.size()); ++row) {
      while (held_[row] > 0) free_.push_back(ids_[Place(row, --held_[row])]);
    }
  }
  // Of all rows.
  int64_t held_blocks() const { return static_cast<int64_t>(ids_.size() - free_.size()); }

  // Brings a copy of the table up to date, of which the first written[row] ids of each row are
  // already as they are here.
  void Update(int32_t* table, std::vector<int32_t>& written) const {
    for (int32_t row = 0; row < static_cast<int32_t>(held_.size()); ++row) {
      if (written[row] == held_[row]) continue;
      const size_t begin = Place(row, written[row]);
      std::copy_n(&ids_[begin], held_[row] - written[row], table + begin);
      written[row] = held_[row];
    }
  }

 private:
  size_t Place(int32_t row, int32_t index) const {
    return static_cast<size_t>(row) * row_blocks_ + index;
  }

  int32_t row_blocks_;
  int32_t block_tokens_;
  std::vector<int32_t> free_;  // a stack
  std::vector<int32_t> ids_;   // [rows][row_blocks]
  std::vector<int32_t> held_;  // [rows]
};

}  // namespace kvpage::bench

#endif  // KVPAGE_BENCH_NAIVE_HOST_TABLES_H_
