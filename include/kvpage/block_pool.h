// SPDX-License-Identifier: Apache-2.0
//
// kvpage/block_pool.h
//
// A BlockPool hands out fixed-size KV-cache blocks by id to CPU threads, counts their references,
// and takes them back.
//
// Use it where no page table is wanted; a KvCache (kvpage/kv_cache.h) has a pool of its own. For
// allocation inside kernels see kvpage/cuda/cuda_block_pool.h.
//
// Example:
//   auto pool = kvpage::BlockPool::Create({.num_blocks = 1024});
//   kvpage::BlockId ids[4];
//   if (pool->TryAllocate(ids) != kvpage::OpStatus::kOk) { /* full: evict, or wait */ }
//   pool->Release(ids);
//
// Thread safety: all methods may be called from any thread at any time.
// Memory ordering: what a thread wrote to a block before its last Release is visible to the thread
//   whose TryAllocate returns that block.
// Cost: see kvpage/core/block_pool_ref.h; no locks in the common case, no allocation after Create.
// Failure: kFull and kNeverFits are exact and take nothing; a list with a bad entry changes nothing
//   and answers the first one's status.

#ifndef KVPAGE_BLOCK_POOL_H_
#define KVPAGE_BLOCK_POOL_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "kvpage/core/block_pool_storage.h"
#include "kvpage/core/op_status.h"
#include "kvpage/core/types.h"
#include "kvpage/export.h"
#include "kvpage/memory_resource.h"
#include "kvpage/owned_state.h"

namespace kvpage {

class KVPAGE_EXPORT BlockPool {
 public:
  // A pool of options.num_blocks free blocks. Its memory comes from the resource, which must
  // outlive it, or from the process. InvalidArgument for options that allow no pool; the resource's
  // error if it refuses.
  [[nodiscard]] static absl::StatusOr<BlockPool> Create(const BlockPoolOptions& options,
                                                        MemoryResource* resource = nullptr);

  uint32_t num_blocks() const { return storage().num_blocks(); }

  // Takes ids.size() blocks, all or none. kFull or kNeverFits leave `ids` as they were.
  [[nodiscard]] OpStatus TryAllocate(absl::Span<BlockId> ids) noexcept;

  // Takes one block; the null block if none is free.
  [[nodiscard]] BlockId TryAllocateOne() noexcept;

  // One reference more for each block. The caller holds one already.
  OpStatus Share(absl::Span<const BlockId> ids) noexcept;
  // The same if the handle's block has not been released since; else kStale.
  OpStatus Share(BlockHandle handle) noexcept;

  // One reference less for each block; the last one makes it free. kDoubleFree, kInvalid: see
  // above.
  OpStatus Release(absl::Span<const BlockId> ids) noexcept;
  OpStatus Release(BlockHandle handle) noexcept;

  // The handle of a block that the caller holds. REQUIRES: 1 <= id <= num_blocks().
  BlockHandle Handle(BlockId id) const noexcept;

  // Free blocks: exact if nobody else is at work, else an estimate that may be too low.
  uint32_t free_blocks() const noexcept;

  // For BlockPoolRef<CpuAtomics>: the same pool, operation by operation.
  const BlockPoolStorage& storage() const { return state_.pool; }

 private:
  explicit BlockPool(PoolState state);

  PoolState state_;
};

}  // namespace kvpage

#endif  // KVPAGE_BLOCK_POOL_H_
