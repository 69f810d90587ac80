// SPDX-License-Identifier: Apache-2.0
//
// kvpage/owned_state.h
//
// The memory of an owner together with the arrays laid out in it, before anything is written there.
// Both backends begin with this: it checks the options, gets the memory and carves it.

#ifndef KVPAGE_OWNED_STATE_H_
#define KVPAGE_OWNED_STATE_H_

#include <cstddef>

#include "absl/status/statusor.h"

#include "kvpage/core/block_pool_storage.h"
#include "kvpage/core/page_table_storage.h"
#include "kvpage/export.h"
#include "kvpage/memory_resource.h"
#include "kvpage/owned_memory.h"

namespace kvpage {

struct KvCacheOptions;

struct KVPAGE_EXPORT PoolState {
  OwnedMemory memory;
  BlockPoolStorage pool;

  // InvalidArgument for options that allow no pool; the resource's error if it refuses.
  static absl::StatusOr<PoolState> Create(const BlockPoolOptions& options,
                                          MemoryResource& resource);
};

struct KVPAGE_EXPORT CacheState {
  OwnedMemory memory;
  OwnedMemory mirror_memory;  // of the host; none if there is no mirror
  BlockPoolStorage pool;
  PageTableStorage table;

  // Bytes that Create needs; InvalidArgument for options that allow no cache.
  static absl::StatusOr<size_t> RequiredBytes(const KvCacheOptions& options);

  // In the caller's memory, if the options name some; else from the resource. A mirror lies in
  // memory of `host_resource`.
  static absl::StatusOr<CacheState> Create(const KvCacheOptions& options, MemoryResource& resource,
                                           MemoryResource& host_resource);
};

}  // namespace kvpage

#endif  // KVPAGE_OWNED_STATE_H_
