// SPDX-License-Identifier: Apache-2.0
//
// examples/kernel_pool/kernel.h
//
// What main.cc asks of the GPU.

#ifndef KVPAGE_EXAMPLES_KERNEL_POOL_KERNEL_H_
#define KVPAGE_EXAMPLES_KERNEL_POOL_KERNEL_H_

#include <cstdint>

#include "kvpage/core/block_pool_storage.h"

struct Counts {
  uint64_t served;   // threads that got a block
  uint64_t refused;  // threads that were told the pool is full
};

// Each of `num_threads` threads (a multiple of 256) takes a block, writes to its KV memory, and
// keeps the block if its number is even. False after a CUDA error.
bool TakeBlocks(const kvpage::BlockPoolStorage& pool, uint32_t num_threads, Counts* counts);

#endif  // KVPAGE_EXAMPLES_KERNEL_POOL_KERNEL_H_
