// SPDX-License-Identifier: Apache-2.0

#include "kvpage/owned_state.h"

#include <cstring>
#include <utility>

#include "absl/status/status.h"

#include "kvpage/kv_cache.h"

namespace kvpage {
namespace {

absl::Status CheckPool(const BlockPoolOptions& options) {
  if (BlockPoolStorage::IsValid(options)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "kvpage: a pool needs 1 to 2^30 blocks, in at most 64 shards of a power of two of at least "
      "64 blocks, and 2 to 16 pending sets, or none");
}

absl::Status CheckTable(const PageTableOptions& options) {
  if (PageTableStorage::IsValid(options)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "kvpage: a page table needs 1 to 2^24 rows, at least 1 block per row and 1 token per block, "
      "rows of less than 2^31 tokens, and drafts of less than 2^16 tokens on 1 to 8 branches");
}

void CarveMirror(Carver& carver, CacheState& state) {
  state.pool.mirror.words = carver.Take<uint64_t>(MirrorStorage::kNumWords);
  state.table.length_bounds = carver.Take<uint32_t>(state.table.max_sequences);
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
                                              MemoryResource& resource,
                                              MemoryResource& host_resource) {
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
  if (!options.mirror) return state;
  Carver counting(nullptr);
  CarveMirror(counting, state);
  absl::StatusOr<OwnedMemory> mirror =
      OwnedMemory::Allocate(host_resource, counting.bytes(), Carver::kAlignment);
  if (!mirror.ok()) return mirror.status();
  state.mirror_memory = *std::move(mirror);
  std::memset(state.mirror_memory.get(), 0, counting.bytes());
  Carver host_carver(state.mirror_memory.get());
  CarveMirror(host_carver, state);
  return state;
}

}  // namespace kvpage
