// SPDX-License-Identifier: Apache-2.0
//
// kvpage/core/move_tokens.h
//
// Carries out the moves of one row in a KV tensor: the KV of a token, in every layer and head, from
// slot to slot, one move after another. A worker has the same bytes of every token, so the order of
// the moves needs no meeting of workers.
//
// Thread safety: workers of one row, and rows, may run at once. Memory ordering: none.
// Cost: reads and writes each byte once, `Unit` at a time.

#ifndef KVPAGE_CORE_MOVE_TOKENS_H_
#define KVPAGE_CORE_MOVE_TOKENS_H_

#include <cstdint>

#include "kvpage/core/draft_batch.h"
#include "kvpage/core/kv_tensor.h"
#include "kvpage/core/macros.h"

namespace kvpage {

// Worker `worker` of `num_workers` does its part. REQUIRES: sizeof(Unit) divides
// CopyUnitBytes(tensor).
template <class Unit>
KVPAGE_HOST_DEVICE void MoveTokensOfRow(const KvTensor& tensor, uint32_t block_tokens,
                                        const TokenMove* moves, uint32_t num_moves, uint64_t worker,
                                        uint64_t num_workers) {
  const uint64_t per_head = static_cast<uint64_t>(tensor.head_bytes) / sizeof(Unit);
  const uint64_t heads = static_cast<uint64_t>(tensor.num_heads);
  const uint64_t num_units = per_head * heads * static_cast<uint64_t>(tensor.num_layers);
  const auto token = [&](int64_t slot) {
    const int64_t block = slot / block_tokens;
    return static_cast<char*>(tensor.data) + block * tensor.block_stride +
           (slot - block * block_tokens) * tensor.token_stride;
  };
  for (uint64_t u = worker; u < num_units; u += num_workers) {
    const uint64_t plane = u / per_head;
    const int64_t offset = static_cast<int64_t>((u - plane * per_head) * sizeof(Unit)) +
                           static_cast<int64_t>(plane % heads) * tensor.head_stride +
                           static_cast<int64_t>(plane / heads) * tensor.layer_stride;
    for (uint32_t j = 0; j < num_moves; ++j) {
      if (moves[j].src < 0) continue;
      *reinterpret_cast<Unit*>(token(moves[j].dst) + offset) =
          *reinterpret_cast<const Unit*>(token(moves[j].src) + offset);
    }
  }
}

}  // namespace kvpage

#endif  // KVPAGE_CORE_MOVE_TOKENS_H_
