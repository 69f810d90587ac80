// SPDX-License-Identifier: Apache-2.0
//
// tools/replay/usage.h
//
// How much of the pool the server holds: what it was told it holds, not what the cache says. An
// audit compares the two.

#ifndef KVPAGE_TOOLS_REPLAY_USAGE_H_
#define KVPAGE_TOOLS_REPLAY_USAGE_H_

#include <algorithm>
#include <cstdint>

namespace kvpage::replay {

class Usage {
 public:
  Usage(uint32_t num_blocks, uint32_t block_tokens)
      : num_blocks_(num_blocks), block_tokens_(block_tokens) {}

  void Allocate(uint64_t blocks) { allocated_ += blocks; }
  void Free(uint64_t blocks) { freed_ += blocks; }
  void AddTokens(uint64_t tokens) { tokens_ += tokens; }
  void DropTokens(uint64_t tokens) { tokens_ -= tokens; }

  // Takes the present state into peak and means: once for each step.
  void Sample() {
    ++samples_;
    peak_blocks_ = std::max(peak_blocks_, blocks_held());
    sum_blocks_ += blocks_held();
    if (blocks_held() == 0) return;
    ++fragmentation_samples_;
    sum_fragmentation_ +=
        1.0 - static_cast<double>(tokens_) / (static_cast<double>(blocks_held()) * block_tokens_);
  }

  uint64_t blocks_held() const { return allocated_ - freed_; }
  uint64_t blocks_allocated() const { return allocated_; }
  uint64_t blocks_freed() const { return freed_; }
  uint64_t peak_blocks() const { return peak_blocks_; }
  uint32_t num_blocks() const { return num_blocks_; }

  // Share of the pool that is held.
  double peak_occupancy() const { return static_cast<double>(peak_blocks_) / num_blocks_; }
  double mean_occupancy() const {
    return samples_ == 0 ? 0 : static_cast<double>(sum_blocks_) / samples_ / num_blocks_;
  }
  // Share of the token slots in held blocks that hold no token.
  double mean_fragmentation() const {
    return fragmentation_samples_ == 0 ? 0 : sum_fragmentation_ / fragmentation_samples_;
  }

 private:
  uint32_t num_blocks_;
  uint32_t block_tokens_;
  uint64_t allocated_ = 0;
  uint64_t freed_ = 0;
  uint64_t tokens_ = 0;
  uint64_t samples_ = 0;
  uint64_t peak_blocks_ = 0;
  uint64_t sum_blocks_ = 0;
  uint64_t fragmentation_samples_ = 0;
  double sum_fragmentation_ = 0;
};

}  // namespace kvpage::replay

#endif  // KVPAGE_TOOLS_REPLAY_USAGE_H_
