// SPDX-License-Identifier: Apache-2.0
//
// examples/register_cache/main.cc
//
// A warp that walks over the KV of a sequence looks its blocks up again and again. Here 32 entries
// of a page table's row are read from the lanes' registers (kvpage::RegisterCache), from shared
// memory and from global memory, by the same loop. The same cache, in one CPU thread, says what the
// kernels must find. Exits with 77 where there is no GPU.

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <utility>

#include "absl/status/status.h"

#include "kvpage/core/register_cache.h"
#include "kvpage/cuda/cuda_block_pool.h"
#include "walk.h"

int main() {
  kvpage::BlockId row[kEntries];
  for (uint32_t i = 0; i < kEntries; ++i) row[i] = (5 * i + 7) % kEntries + 1000 * kEntries;

  const kvpage::ThreadGroup thread;
  kvpage::RegisterCache<kvpage::BlockId, kvpage::ThreadGroup> cache(thread);
  cache.Fill([&](uint32_t i) { return row[i]; });
  kvpage::BlockId want[kEntries];
  for (uint32_t i = 0; i < kEntries; ++i) {
    want[i] = Walk(i, [&](uint32_t entry) { return cache.Get(entry); });
  }

  // A pool of one block tells whether there is a GPU.
  const auto pool = kvpage::CudaBlockPool::Create(kvpage::StreamRef::Default(), {.num_blocks = 1});
  if (!pool.ok()) {
    std::printf("%s\n", pool.status().ToString().c_str());
    return absl::IsUnavailable(pool.status()) ? 77 : 1;
  }
  bool ok = true;
  for (const auto& [level, name] : {std::pair{Level::kRegister, "registers"},
                                    {Level::kShared, "shared memory"},
                                    {Level::kGlobal, "global memory"}}) {
    Walked walked = {};
    const bool right =
        WalkOnGpu(level, row, &walked) && std::equal(std::begin(want), std::end(want), walked.ends);
    std::printf("%-13s %6.1f clocks for a lookup%s\n", name,
                static_cast<double>(walked.clocks) / kLookups, right ? "" : "  WRONG");
    ok = ok && right;
  }
  return ok ? 0 : 1;
}
