// SPDX-License-Identifier: Apache-2.0

#include "kvpage/owned_state.h"

#include <utility>

#include "absl/status/status.h"

#include "kvpage/kv_cache.h"

namespace kvpage {
namespace {

absl::Status CheckPool(const BlockPoolOptions& options) {
  if (BlockPoolStorage::IsValid(options)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "kvpage: a pool needs 1 to 2^30 blocks, in at most 64 shards of a power of two of at least "
      "64 blocks, and at most 16 pending sets");
}

absl::Status CheckTable(const PageTableOptions& options) {
  if (PageTableStorage::IsValid(options)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "kvpage: a page table needs 1 to 2^24 rows, at least 1 block per row and 1 token per block, "
      "rows of less than 2^31 tokens, and drafts of less than 2^16 tokens on 1 to 8 branches");
}

}  // namespace

absl::StatusOr<PoolState> PoolState::Create(const BlockPoolOptions& options,
                                            MemoryResource& resource) {
  absl::Status status = CheckPool(options);
  if (!status.ok()) return status;
  absl::StatusOr<OwnedMemory> memory =
      OwnedMemory::Allocate(resource, BlockPoolStorage::RequiredBytes(options), Carver::kAlignment);
  if (!memory.ok()) return memory.status();
  Carver carver(memory->get());
  return PoolState{*std::move(memory), BlockPoolStorage::Carve(carver, options)};
}

absl::StatusOr<size_t> CacheState::RequiredBytes(const KvCacheOptions& options) {
  absl::Status status = CheckPool(options.pool());
  status.Update(CheckTable(options.table()));
  if (!status.ok()) return status;
  Carver counting(nullptr);
  BlockPoolStorage::Carve(counting, options.pool());
  PageTableStorage::Carve(counting, options.table());
  return counting.bytes();
}

absl::StatusOr<CacheState> CacheState::Create(const KvCacheOptions& options,
                                              MemoryResource& resource) {
  absl::StatusOr<size_t> bytes = RequiredBytes(options);
  if (!bytes.ok()) return bytes.status();
  absl::StatusOr<OwnedMemory> memory =
      options.memory != nullptr
          ? OwnedMemory::Borrow(options.memory, options.memory_bytes, *bytes, Carver::kAlignment)
          : OwnedMemory::Allocate(resource, *bytes, Carver::kAlignment);
  if (!memory.ok()) return memory.status();
  CacheState state;
  state.memory = *std::move(memory);
  Carver carver(state.memory.get());
  state.pool = BlockPoolStorage::Carve(carver, options.pool());
  state.table = PageTableStorage::Carve(carver, options.table());
  return state;
}

}  // namespace kvpage
