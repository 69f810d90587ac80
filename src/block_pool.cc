// SPDX-License-Identifier: Apache-2.0

#include "kvpage/block_pool.h"

#include <functional>
#include <thread>
#include <utility>

#include "kvpage/core/block_lists.h"
#include "kvpage/core/block_pool_ref.h"
#include "kvpage/core/cpu_atomics.h"
#include "src/default_memory.h"

namespace kvpage {
namespace {

using PoolRef = BlockPoolRef<CpuAtomics>;

// Threads start their search in different places.
ThreadGroup ThisThread() {
  return ThreadGroup(
      static_cast<uint32_t>(MixBits(std::hash<std::thread::id>()(std::this_thread::get_id()))));
}

BlockListBatch ListOf(absl::Span<const BlockId> ids) {
  return {.ids = ids.data(), .num_ids = static_cast<int32_t>(ids.size())};
}

}  // namespace

absl::StatusOr<BlockPool> BlockPool::Create(const BlockPoolOptions& options,
                                            MemoryResource* resource) {
  absl::StatusOr<PoolState> state =
      PoolState::Create(options, resource != nullptr ? *resource : DefaultHostMemory());
  if (!state.ok()) return state.status();
  PoolRef(state->pool).Init(0, 1);
  return BlockPool(*std::move(state));
}

BlockPool::BlockPool(PoolState state) : state_(std::move(state)) {}

OpStatus BlockPool::TryAllocate(absl::Span<BlockId> ids) noexcept {
  if (ids.size() > num_blocks()) return OpStatus::kNeverFits;
  ThreadGroup thread = ThisThread();
  return PoolRef(storage()).TryAllocate(thread, static_cast<uint32_t>(ids.size()), ids.data());
}

BlockId BlockPool::TryAllocateOne() noexcept {
  ThreadGroup thread = ThisThread();
  return PoolRef(storage()).TryAllocateOne(thread);
}

OpStatus BlockPool::Share(absl::Span<const BlockId> ids) noexcept {
  if (ids.size() > 0x7fffffff) return OpStatus::kInvalid;
  ThreadGroup thread;
  const PoolRef pool(storage());
  return BlockLists<CpuAtomics, ThreadGroup>(thread, pool, ListOf(ids)).Share();
}

OpStatus BlockPool::Share(BlockHandle handle) noexcept {
  ThreadGroup thread;
  return PoolRef(storage()).Share(thread, handle);
}

OpStatus BlockPool::Release(absl::Span<const BlockId> ids) noexcept {
  if (ids.size() > 0x7fffffff) return OpStatus::kInvalid;
  ThreadGroup thread;
  const PoolRef pool(storage());
  return BlockLists<CpuAtomics, ThreadGroup>(thread, pool, ListOf(ids)).Release();
}

OpStatus BlockPool::Release(BlockHandle handle) noexcept {
  ThreadGroup thread;
  return PoolRef(storage()).Release(thread, handle);
}

BlockHandle BlockPool::Handle(BlockId id) const noexcept { return PoolRef(storage()).Handle(id); }

uint32_t BlockPool::free_blocks() const noexcept {
  const auto bounds = PoolRef(storage()).gate().FreeBounds();
  return bounds.lower > 0 ? static_cast<uint32_t>(bounds.lower) : 0;
}

}  // namespace kvpage
