// SPDX-License-Identifier: Apache-2.0
//
// bench/block_counts.h
//
// How many blocks are held, looked at again and again.

#ifndef KVPAGE_BENCH_BLOCK_COUNTS_H_
#define KVPAGE_BENCH_BLOCK_COUNTS_H_

#include <cstdint>

namespace kvpage::bench {

class BlockCounts {
 public:
  void Add(int64_t blocks) {
    sum_ += blocks;
    ++looks_;
    if (blocks > peak_) peak_ = blocks;
  }
  // 0 if nobody looked.
  double Average() const { return looks_ == 0 ? 0 : static_cast<double>(sum_) / looks_; }
  double Peak() const { return static_cast<double>(peak_); }

 private:
  int64_t sum_ = 0;
  int64_t looks_ = 0;
  int64_t peak_ = 0;
};

}  // namespace kvpage::bench

#endif  // KVPAGE_BENCH_BLOCK_COUNTS_H_
