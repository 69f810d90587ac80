// SPDX-License-Identifier: Apache-2.0
//
// bench/kvpage_pool.cuh
//
// kvpage's pool as a DevicePool, by single threads, coalesced groups, warps and thread blocks.

#ifndef KVPAGE_BENCH_KVPAGE_POOL_CUH_
#define KVPAGE_BENCH_KVPAGE_POOL_CUH_

#include <cstdint>

#include "bench/device_pool.cuh"
#include "kvpage/cuda/kvpage.cuh"

namespace kvpage::bench {

class KvpagePool {
 public:
  using Id = BlockId;
  using Storage = BlockPoolStorage;
  static constexpr bool kIsFinite = true;
  static constexpr bool kIsExact = true;

  static Storage Carve(Carver& carver, const BlockPoolOptions& options) {
    return BlockPoolStorage::Carve(carver, options);
  }

  __device__ explicit KvpagePool(const Storage& storage) : pool_(storage) {}

  __device__ void Init(uint64_t worker, uint64_t num_workers) const {
    pool_.Init(worker, num_workers);
  }
  __device__ bool TryAllocateMany(uint32_t n, BlockId* ids) {
    return pool_.TryAllocate(warp_, n, ids) == OpStatus::kOk;
  }
  __device__ void Release(BlockId id) { pool_.Release(warp_, id); }

 protected:
  CudaBlockPoolRef pool_;
  WarpGroup warp_;
};

class KvpageThread : public KvpagePool {
 public:
  using KvpagePool::KvpagePool;
  __device__ BlockId TryAllocateOne() { return pool_.TryAllocateOne(me_); }
  __device__ void Release(BlockId id) { pool_.Release(me_, id); }

 private:
  ThreadGroup me_ = ThisThread();
};

// Every warp comes in two halves, the even and the odd lanes.
class KvpageCoalesced : public KvpagePool {
 public:
  using KvpagePool::KvpagePool;
  __device__ BlockId TryAllocateOne() {
    BlockId id = kNullBlock;
    if (threadIdx.x % 2 == 0) {
      CoalescedGroup even;
      id = pool_.TryAllocateOne(even);
    } else {
      CoalescedGroup odd;
      id = pool_.TryAllocateOne(odd);
    }
    __syncwarp();  // Release is by whole warps
    return id;
  }
};

class KvpageWarp : public KvpagePool {
 public:
  using KvpagePool::KvpagePool;
  __device__ BlockId TryAllocateOne() { return pool_.TryAllocateOne(warp_); }
};

// One gate operation for the whole thread block.
class KvpageBlock : public KvpagePool {
 public:
  __device__ explicit KvpageBlock(const Storage& storage)
      : KvpagePool(storage), block_(Scratch()) {}

  __device__ BlockId TryAllocateOne() { return pool_.TryAllocateOne(block_); }

 private:
  __device__ static ThreadBlockScratch& Scratch() {
    __shared__ ThreadBlockScratch scratch;
    return scratch;
  }

  ThreadBlockGroup block_;
};

static_assert(BulkDevicePool<KvpageThread> && BulkDevicePool<KvpageCoalesced> &&
              BulkDevicePool<KvpageWarp> && BulkDevicePool<KvpageBlock>);

}  // namespace kvpage::bench

#endif  // KVPAGE_BENCH_KVPAGE_POOL_CUH_
