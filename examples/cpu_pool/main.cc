// SPDX-License-Identifier: Apache-2.0
//
// examples/cpu_pool/main.cc
//
// The two ways to use kvpage on the CPU: a pool that hands out single blocks, and a cache that
// keeps a page table and says where each new token's KV goes.

#include <cstdio>

#include "absl/types/span.h"

#include "kvpage/block_pool.h"
#include "kvpage/kv_cache.h"

namespace {

bool UsePool() {
  auto pool = kvpage::BlockPool::Create({.num_blocks = 8});
  if (!pool.ok()) return false;
  kvpage::BlockId ids[6];
  kvpage::BlockId more[3];
  if (pool->TryAllocate(absl::MakeSpan(ids)) != kvpage::OpStatus::kOk) return false;
  const kvpage::OpStatus refused = pool->TryAllocate(absl::MakeSpan(more));  // 2 are left: none
  pool->Release(ids);
  std::printf("pool: got 6 blocks, then asked for 3: %s; free at the end: %u\n",
              kvpage::OpStatusName(refused), pool->free_blocks());
  return refused == kvpage::OpStatus::kFull && pool->free_blocks() == 8;
}

bool UseCache() {
  auto cache = kvpage::CreateCpuKvCache(
      {.num_blocks = 64, .block_tokens = 16, .max_sequences = 4, .max_blocks_per_sequence = 8});
  if (!cache.ok()) return false;
  const int32_t rows[] = {0, 1};
  const int32_t tokens[] = {20, 3};
  kvpage::OpStatus statuses[2];
  int64_t slots[23];
  const kvpage::RowBatch batch = {.rows = rows, .num_rows = 2, .statuses = statuses};
  const absl::Status status =
      (*cache)->Append(kvpage::StreamRef::Default(),
                       {.batch = batch, .tokens = tokens, .slots = slots, .slot_capacity = 23});
  if (!status.ok()) return false;
  std::printf("cache: row 0 begins at slot %d, row 1 at slot %d\n", static_cast<int>(slots[0]),
              static_cast<int>(slots[20]));
  if (!(*cache)->Close(kvpage::StreamRef::Default(), {.batch = batch}).ok()) return false;
  return statuses[0] == kvpage::OpStatus::kOk && statuses[1] == kvpage::OpStatus::kOk;
}

}  // namespace

int main() { return UsePool() && UseCache() ? 0 : 1; }
