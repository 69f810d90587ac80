// SPDX-License-Identifier: Apache-2.0
//
// kvpage/core/copy_blocks.h
//
// Carries out one entry of a copy list in a KV tensor: the first `tokens` token slots of block src
// to block dst, in every layer and head, and nothing else.
//
// Thread safety: workers of one entry may run at once. Memory ordering: none.
// Cost: reads and writes each byte once, `Unit` at a time.

#ifndef KVPAGE_CORE_COPY_BLOCKS_H_
#define KVPAGE_CORE_COPY_BLOCKS_H_

#include <cstdint>

#include "kvpage/core/kv_tensor.h"
#include "kvpage/core/macros.h"
#include "kvpage/core/types.h"

namespace kvpage {

struct alignas(16) Bytes16 {
  uint64_t halves[2];
};

// The widest of 16, 8, 4, 2 and 1 bytes that divides every address and length of the tensor.
inline int64_t CopyUnitBytes(const KvTensor& t) {
  const uint64_t all =
      reinterpret_cast<uintptr_t>(t.data) | static_cast<uint64_t>(t.layer_stride) |
      static_cast<uint64_t>(t.block_stride) | static_cast<uint64_t>(t.head_stride) |
      static_cast<uint64_t>(t.token_stride) | static_cast<uint64_t>(t.head_bytes) | 16;
  return static_cast<int64_t>(all & (~all + 1));
}

// Worker `worker` of `num_workers` copies its part. REQUIRES: sizeof(Unit) divides
// CopyUnitBytes(tensor).
template <class Unit>
KVPAGE_HOST_DEVICE void CopyBlock(const KvTensor& tensor, const BlockCopy& copy, uint64_t worker,
                                  uint64_t num_workers) {
  if (copy.dst == kNullBlock || copy.tokens <= 0) return;
  const uint64_t per_head = static_cast<uint64_t>(tensor.head_bytes) / sizeof(Unit);
  const uint64_t tokens = static_cast<uint64_t>(copy.tokens);
  const uint64_t heads = static_cast<uint64_t>(tensor.num_heads);
  const uint64_t num_units = per_head * tokens * heads * static_cast<uint64_t>(tensor.num_layers);
  char* const data = static_cast<char*>(tensor.data);
  for (uint64_t u = worker; u < num_units; u += num_workers) {
    const uint64_t row = u / per_head;  // row = (layer * heads + head) * tokens + token
    const uint64_t plane = row / tokens;
    const int64_t offset = static_cast<int64_t>((u - row * per_head) * sizeof(Unit)) +
                           static_cast<int64_t>(row - plane * tokens) * tensor.token_stride +
                           static_cast<int64_t>(plane % heads) * tensor.head_stride +
                           static_cast<int64_t>(plane / heads) * tensor.layer_stride;
    const Unit* src = reinterpret_cast<const Unit*>(
        data + offset + static_cast<int64_t>(copy.src) * tensor.block_stride);
    Unit* dst = reinterpret_cast<Unit*>(data + offset +
                                        static_cast<int64_t>(copy.dst) * tensor.block_stride);
    *dst = *src;
  }
}

}  // namespace kvpage

#endif  // KVPAGE_CORE_COPY_BLOCKS_H_
