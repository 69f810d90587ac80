// SPDX-License-Identifier: Apache-2.0
//
// kvpage/core/types.h
//
// The nouns that every other header uses: block ids, handles, and the limits of a pool.

#ifndef KVPAGE_CORE_TYPES_H_
#define KVPAGE_CORE_TYPES_H_

#include <cstdint>

namespace kvpage {

// Names one block: `block_tokens` token slots of KV memory that the caller owns. A pool of N blocks
// hands out the ids 1 .. N; a KV tensor that is indexed by id therefore has N + 1 blocks.
using BlockId = uint32_t;

// Never handed out. Fills the unused tail of a page-table row; releasing it does nothing.
inline constexpr BlockId kNullBlock = 0;

// The largest pool: every id, and every slot of a block of up to 2^32 tokens, fits the signed types
// that attention kernels use.
inline constexpr uint32_t kMaxBlocks = 1u << 30;

// A pool is cut into at most this many shards.
inline constexpr uint32_t kMaxShards = 64;

// The longest sequence, in tokens.
inline constexpr int64_t kMaxSequenceTokens = 0x7fffffff;

// How many bits tell a block's lives apart.
inline constexpr uint32_t kGenerationBits = 12;

// The most references to one block.
inline constexpr int32_t kMaxReferences = (1 << 17) - 1;

// A block id together with the life it was handed out in. A handle kept after its block was
// released is recognised as stale for 4095 later lives; then the generation has gone round once.
struct BlockHandle {
  BlockId id = kNullBlock;
  uint32_t generation = 0;

  friend bool operator==(const BlockHandle&, const BlockHandle&) = default;
};

// One entry of a copy list: copy the first `tokens` token slots of `src` to `dst`, in every layer.
// An entry whose dst is the null block asks for nothing.
struct BlockCopy {
  BlockId src = kNullBlock;
  BlockId dst = kNullBlock;
  int32_t tokens = 0;

  friend bool operator==(const BlockCopy&, const BlockCopy&) = default;
};

}  // namespace kvpage

#endif  // KVPAGE_CORE_TYPES_H_
