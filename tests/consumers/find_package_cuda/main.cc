// SPDX-License-Identifier: Apache-2.0
//
// tests/consumers/find_package_cuda/main.cc
//
// Makes a cache on the GPU and lets a kernel allocate from its pool. Without a GPU it still shows
// that the program builds, links and starts.

#include <cstdio>

#include "kernel.h"
#include "kvpage/cuda/cuda_kv_cache.h"

int main() {
  auto cache = kvpage::CreateCudaKvCache(
      kvpage::StreamRef::Default(),
      {.num_blocks = 64, .block_tokens = 16, .max_sequences = 4, .max_blocks_per_sequence = 8});
  if (!cache.ok()) {
    std::printf("%s\n", cache.status().ToString().c_str());
    return absl::IsUnavailable(cache.status()) ? 0 : 1;
  }
  const bool is_right = WarpAllocates((*cache)->pool());
  std::printf("%s\n", is_right ? "right" : "wrong");
  return is_right ? 0 : 1;
}
