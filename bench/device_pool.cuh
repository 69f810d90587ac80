// SPDX-License-Identifier: Apache-2.0
//
// bench/device_pool.cuh
//
// What a pool must offer to be measured: kvpage by each of its groups (kvpage_pool.cuh) and the
// ways that one would write without it (naive/). A pool object is made from its Storage by every
// thread of a kernel. All threads of the grid call its functions together, in whole warps; each
// lane takes and gives back one block of its own.

#ifndef KVPAGE_BENCH_DEVICE_POOL_CUH_
#define KVPAGE_BENCH_DEVICE_POOL_CUH_

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "kvpage/core/block_pool_storage.h"
#include "kvpage/core/carver.h"

namespace kvpage::bench {

template <class P>
concept DevicePool = std::is_trivially_copyable_v<typename P::Storage> &&
    requires(P pool, typename P::Id id, Carver& carver, const BlockPoolOptions& options,
             uint64_t n) {
  // Lays it out in device memory; a naive way heeds num_blocks alone.
  { P::Carve(carver, options) } -> std::same_as<typename P::Storage>;
  // Whether it counts its blocks and refuses when there are none, and whether it never refuses
  // while there are some.
  { P::kIsFinite } -> std::convertible_to<bool>;
  { P::kIsExact } -> std::convertible_to<bool>;
  pool.Init(n, n);  // worker n of n; everything is free when all have done their part
  { pool.TryAllocateOne() } -> std::same_as<typename P::Id>;  // 0: no block
  pool.Release(id);                                           // passes over 0
};

// A pool that can also be asked for many blocks at once, all or none, by one warp; ids[0 .. n)
// are then the warp's.
template <class P>
concept BulkDevicePool = DevicePool<P> && requires(P pool, uint32_t n, typename P::Id* ids) {
  { pool.TryAllocateMany(n, ids) } -> std::same_as<bool>;
};

}  // namespace kvpage::bench

#endif  // KVPAGE_BENCH_DEVICE_POOL_CUH_
