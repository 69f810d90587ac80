// SPDX-License-Identifier: Apache-2.0
//
// bench/naive/device_malloc.cuh
//
// The allocator that every kernel has at hand: malloc and free in device code, of 16 bytes. The
// pointer is the id. It has no number of blocks; what it has is the heap of the device.

#ifndef KVPAGE_BENCH_NAIVE_DEVICE_MALLOC_CUH_
#define KVPAGE_BENCH_NAIVE_DEVICE_MALLOC_CUH_

#include <cstdint>

#include "bench/device_pool.cuh"

namespace kvpage::bench {

class DeviceMalloc {
 public:
  using Id = uint64_t;
  struct Storage {};
  static constexpr bool kIsFinite = false;
  static constexpr bool kIsExact = false;

  static Storage Carve(Carver& carver, const BlockPoolOptions&) {
    carver.Take<char>(1);  // memory of no bytes cannot be had
    return {};
  }

  __device__ explicit DeviceMalloc(const Storage&) {}

  __device__ void Init(uint64_t, uint64_t) const {}
  __device__ uint64_t TryAllocateOne() const { return reinterpret_cast<uint64_t>(malloc(16)); }
  __device__ void Release(uint64_t id) const { free(reinterpret_cast<void*>(id)); }
};

static_assert(DevicePool<DeviceMalloc>);

}  // namespace kvpage::bench

#endif  // KVPAGE_BENCH_NAIVE_DEVICE_MALLOC_CUH_
