// SPDX-License-Identifier: Apache-2.0
//
// examples/register_cache/walk.h
//
// What the kernels and the CPU both do, and what main.cc asks of the GPU.

#ifndef KVPAGE_EXAMPLES_REGISTER_CACHE_WALK_H_
#define KVPAGE_EXAMPLES_REGISTER_CACHE_WALK_H_

#include <cstdint>

#include "kvpage/core/macros.h"
#include "kvpage/core/types.h"

constexpr uint32_t kEntries = 32;
constexpr uint32_t kLookups = 1 << 14;

// Follows the entries of a row, as if each block named the next to look up.
template <class Read>
KVPAGE_HOST_DEVICE kvpage::BlockId Walk(uint32_t begin, Read read) {
  kvpage::BlockId at = begin;
  for (uint32_t n = 0; n < kLookups; ++n) at = read(at) % kEntries;
  return at;
}

enum class Level { kRegister, kShared, kGlobal };

struct Walked {
  kvpage::BlockId ends[kEntries];  // where each lane got to
  long long clocks;
};

// A warp walks over the row, read from there. False after a CUDA error.
bool WalkOnGpu(Level level, const kvpage::BlockId (&row)[kEntries], Walked* walked);

#endif  // KVPAGE_EXAMPLES_REGISTER_CACHE_WALK_H_
