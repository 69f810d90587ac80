// SPDX-License-Identifier: Apache-2.0
//
// kvpage/core/block_pool_storage.h
//
// The plain arrays of a block pool: what they are, how large, and where they lie. Trivially
// copyable; made on the host for either backend, turned into a BlockPoolRef by the code that runs
// on it.

#ifndef KVPAGE_CORE_BLOCK_POOL_STORAGE_H_
#define KVPAGE_CORE_BLOCK_POOL_STORAGE_H_

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kvpage/core/block_words.h"
#include "kvpage/core/carver.h"
#include "kvpage/core/exact_gate.h"
#include "kvpage/core/free_bits.h"
#include "kvpage/core/host_mirror.h"
#include "kvpage/core/layout.h"
#include "kvpage/core/pending_blocks.h"

namespace kvpage {

struct BlockPoolOptions {
  uint32_t num_blocks = 0;  // 1 .. kMaxBlocks; ids are 1 .. num_blocks

  // Blocks per shard, a power of two of at least 64; at most kMaxShards shards. 0: chosen for
  // num_blocks, at least 1024, so that a large pool has 33 to 64 shards.
  uint32_t blocks_per_shard = 0;

  Placement block_words = Placement::kContiguous;
  Placement gate_words = Placement::kInterleaved;

  // Sets of blocks that wait for a fence, 2 to 16: as many epochs in flight are told apart, more
  // share a set. 0: blocks cannot be released under a fence.
  uint32_t pending_sets = 4;

  // Host memory of MirrorStorage::kNumWords words, all 0, that the operations report to; null: they
  // do not. A KvCache with the option `mirror` sees to it itself.
  uint64_t* mirror_words = nullptr;
};

struct BlockPoolStorage {
  GateStorage gate;
  FreeBitsStorage bits;
  BlockWordsStorage words;
  PendingStorage pending;
  MirrorStorage mirror;

  uint32_t num_blocks() const { return bits.num_blocks; }

  // Whether a pool can be made from the options.
  static constexpr bool IsValid(const BlockPoolOptions& options) {
    if (options.num_blocks == 0 || options.num_blocks > kMaxBlocks) return false;
    // With one set, younger epochs could keep all blocks waiting for ever.
    if (options.pending_sets == 1 || options.pending_sets > kMaxPendingSets) return false;
    const uint64_t per_shard = options.blocks_per_shard;
    if (per_shard == 0) return true;
    return per_shard >= 64 && (per_shard & (per_shard - 1)) == 0 && per_shard <= kMaxBlocks &&
           CeilDiv(options.num_blocks, per_shard) <= kMaxShards;
  }

  // Lays a pool out. REQUIRES: IsValid(options).
  static BlockPoolStorage Carve(Carver& carver, const BlockPoolOptions& options) {
    BlockPoolStorage s;
    s.bits.num_blocks = options.num_blocks;
    s.bits.shard_shift = ShardShift(options);
    s.gate.num_shards = s.bits.num_shards();
    s.gate.stride = options.gate_words == Placement::kInterleaved ? 32 : 1;
    s.gate.capacity = options.num_blocks;
    s.gate.reciprocal = CeilDiv(uint64_t{1} << 32, s.gate.num_shards);
    s.words.layout = WordLayout::Make(options.num_blocks, sizeof(uint32_t), options.block_words);
    s.gate.words = carver.Take<uint64_t>(GateStorage::NumWords(s.gate.num_shards, s.gate.stride));
    s.bits.summaries = carver.Take<uint64_t>(s.bits.num_summaries());
    s.bits.leaves = carver.Take<uint64_t>(s.bits.num_leaves());
    s.words.words = carver.Take<uint32_t>(s.words.layout.size());
    s.pending.num_sets = options.pending_sets;
    s.pending.bits = s.bits;
    s.pending.words = carver.Take<uint64_t>(PendingStorage::NumWords(options.pending_sets));
    s.pending.bits.summaries = carver.Take<uint64_t>(options.pending_sets * s.bits.num_summaries());
    s.mirror.words = options.mirror_words;
    s.mirror.state = carver.Take<uint64_t>(MirrorStorage::kNumStateWords);
    s.pending.bits.leaves = carver.Take<uint64_t>(options.pending_sets * s.bits.num_leaves());
    return s;
  }

  static size_t RequiredBytes(const BlockPoolOptions& options) {
    Carver counting(nullptr);
    Carve(counting, options);
    return counting.bytes();
  }

 private:
  static constexpr uint32_t ShardShift(const BlockPoolOptions& options) {
    uint32_t shift = options.blocks_per_shard == 0 ? 10 : 6;
    if (options.blocks_per_shard == 0) {
      while (CeilDiv(options.num_blocks, uint64_t{1} << shift) > kMaxShards) ++shift;
    } else {
      while ((1u << shift) < options.blocks_per_shard) ++shift;
    }
    return shift;
  }
};

static_assert(std::is_trivially_copyable_v<BlockPoolStorage>);

}  // namespace kvpage

#endif  // KVPAGE_CORE_BLOCK_POOL_STORAGE_H_
