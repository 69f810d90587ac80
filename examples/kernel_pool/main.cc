// SPDX-License-Identifier: Apache-2.0
//
// examples/kernel_pool/main.cc
//
// Makes a pool in device memory and lets the threads of a kernel allocate from it. Exits with 77
// where there is no GPU.

#include <cinttypes>
#include <cstdio>

#include "absl/status/status.h"

#include "kernel.h"
#include "kvpage/cuda/cuda_block_pool.h"

int main() {
  constexpr uint32_t kThreads = 1 << 16;
  constexpr uint32_t kBlocks = kThreads / 2;  // what the even threads keep
  auto pool = kvpage::CudaBlockPool::Create(kvpage::StreamRef::Default(), {.num_blocks = kBlocks});
  if (!pool.ok()) {
    std::printf("%s\n", pool.status().ToString().c_str());
    return absl::IsUnavailable(pool.status()) ? 77 : 1;
  }
  Counts counts = {};
  if (!TakeBlocks(pool->storage(), kThreads, &counts)) {
    std::printf("a CUDA error\n");
    return 1;
  }
  std::printf("%" PRIu64 " of %u threads got a block, %" PRIu64 " did not\n", counts.served,
              kThreads, counts.refused);
  // Nobody is told that the pool is full while it is not, so at least as many as there are blocks
  // have been served.
  return counts.served + counts.refused == kThreads && counts.served >= kBlocks ? 0 : 1;
}
