// SPDX-License-Identifier: Apache-2.0
//
// tests/consumers/main.cc
//
// The program of the consumers on the CPU: makes a cache and appends 20 tokens to a sequence.

#include <cstdint>
#include <cstdio>

#include "kvpage/kv_cache.h"

int main() {
  auto cache = kvpage::CreateCpuKvCache(
      {.num_blocks = 64, .block_tokens = 16, .max_sequences = 4, .max_blocks_per_sequence = 8});
  if (!cache.ok()) {
    std::fprintf(stderr, "%s\n", cache.status().ToString().c_str());
    return 1;
  }

  const int32_t rows[] = {0};
  const int32_t tokens[] = {20};
  kvpage::OpStatus statuses[1];
  int64_t slots[20];
  const absl::Status status = (*cache)->Append(
      kvpage::StreamRef::Default(), {.batch = {.rows = rows, .num_rows = 1, .statuses = statuses},
                                     .tokens = tokens,
                                     .slots = slots,
                                     .slot_capacity = 20});

  // The lowest ids are handed out first: 16 slots of block 1, then 4 of block 2.
  const bool is_right = status.ok() && statuses[0] == kvpage::OpStatus::kOk && slots[0] == 16 &&
                        slots[15] == 31 && slots[16] == 32 && slots[19] == 35;
  std::printf("%s, first slot %lld\n", is_right ? "right" : "wrong",
              static_cast<long long>(slots[0]));
  return is_right ? 0 : 1;
}
