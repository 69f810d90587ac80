// SPDX-License-Identifier: Apache-2.0
//
// bench/profile_pool.cuh
//
// The pool under the profiler: kernels whose names say what they do, and the pool they run on. A
// kernel's tag says where the words of pool and table lie (profile_rows.cuh has the table's):
//
//   NaiveAlloc         one atomic per thread on one counter, as it is written; the compiler sees
//                      that a warp's lanes meet and sends one of them
//   NaiveAllocByLane   the same where the compiler cannot see it: one atomic per lane
//   PoolAlloc<Tag>     2^19 threads take a block each through their warps
//   PoolRelease<Tag>   and give it back
//   PoolChurn<Tag>     as many threads as an H200 holds take and give back in turn
//   PrefixShare<Tag>   1024 rows add one reference each to the same 64 blocks, a row by itself

#ifndef KVPAGE_BENCH_PROFILE_POOL_CUH_
#define KVPAGE_BENCH_PROFILE_POOL_CUH_

#include <cstdint>

#include "bench/gpu_timer.h"
#include "kvpage/cuda/kvpage.cuh"

namespace kvpage::bench::profile {

inline constexpr uint32_t kThreads = 256;
inline constexpr uint32_t kPoolBlocks = 1 << 20;
inline constexpr uint32_t kTakers = 1 << 19;
inline constexpr uint32_t kChurnThreads = 270336;
inline constexpr uint32_t kChurnRounds = 16;
inline constexpr uint32_t kRows = 1024;
inline constexpr uint32_t kPrefixBlocks = 64;

// Tags. Types and not numbers, so that a profiler prints them.
struct Contiguous {
  static constexpr Placement kGate = Placement::kContiguous;
  static constexpr Placement kBlocks = Placement::kContiguous;
  static constexpr Placement kSequences = Placement::kContiguous;
};
struct GateInterleaved : Contiguous {
  static constexpr Placement kGate = Placement::kInterleaved;
};
struct BlocksInterleaved : Contiguous {
  static constexpr Placement kBlocks = Placement::kInterleaved;
};
struct Interleaved : BlocksInterleaved {
  static constexpr Placement kGate = Placement::kInterleaved;
};

struct SequencesInterleaved : Contiguous {
  static constexpr Placement kSequences = Placement::kInterleaved;
};

__device__ inline uint32_t Thread() { return blockIdx.x * blockDim.x + threadIdx.x; }

__global__ void NaiveAlloc(uint32_t* next, BlockId* ids) {
  ids[Thread()] = atomicAdd(next, 1u) + 1;
}

// `zeros` hides from the compiler that all lanes add to the same word.
__global__ void NaiveAllocByLane(uint32_t* next, const uint32_t* zeros, BlockId* ids) {
  ids[Thread()] = atomicAdd(next + zeros[threadIdx.x], 1u) + 1;
}

// `missing` counts threads that got no block: a profile of those would be one of something else.
template <class Tag>
__global__ void __launch_bounds__(kThreads, 2048 / kThreads)
    PoolAlloc(const __grid_constant__ BlockPoolStorage storage, BlockId* ids, uint32_t* missing) {
  WarpGroup warp;
  const BlockId id = CudaBlockPoolRef(storage).TryAllocateOne(warp);
  ids[Thread()] = id;
  if (id == kNullBlock) CudaAtomics::AddRelaxed(missing, 1u);
}

template <class Tag>
__global__ void __launch_bounds__(kThreads, 2048 / kThreads)
    PoolRelease(const __grid_constant__ BlockPoolStorage storage, const BlockId* ids,
                uint32_t* missing) {
  WarpGroup warp;
  const OpStatus status = CudaBlockPoolRef(storage).Release(warp, ids[Thread()]);
  if (status != OpStatus::kOk) CudaAtomics::AddRelaxed(missing, 1u);
}

template <class Tag>
__global__ void __launch_bounds__(kThreads, 2048 / kThreads)
    PoolChurn(const __grid_constant__ BlockPoolStorage storage, uint32_t rounds,
              uint32_t* missing) {
  const CudaBlockPoolRef pool(storage);
  uint32_t failed = 0;
  for (uint32_t round = 0; round < rounds; ++round) {
    WarpGroup warp;
    const BlockId id = pool.TryAllocateOne(warp);
    failed += id == kNullBlock;
    pool.Release(warp, id);
  }
  if (failed > 0) CudaAtomics::AddRelaxed(missing, failed);
}

template <class Tag>
__global__ void __launch_bounds__(kThreads, 2048 / kThreads)
    PrefixShare(const __grid_constant__ BlockPoolStorage storage, const BlockId* prefix,
                uint32_t* missing) {
  ThreadGroup row = ThisThread();
  const BlockId id = prefix[Thread() % kPrefixBlocks];
  if (CudaBlockPoolRef(storage).Share(row, id) != OpStatus::kOk) {
    CudaAtomics::AddRelaxed(missing, 1u);
  }
}

__global__ void InitPool(const __grid_constant__ BlockPoolStorage storage) {
  CudaBlockPoolRef(storage).Init(Thread(), uint64_t{gridDim.x} * blockDim.x);
}

__global__ void TakePrefix(const __grid_constant__ BlockPoolStorage storage, BlockId* prefix,
                           uint32_t* missing) {
  ThreadGroup me = ThisThread();
  if (CudaBlockPoolRef(storage).TryAllocate(me, kPrefixBlocks, prefix) != OpStatus::kOk) {
    CudaAtomics::AddRelaxed(missing, 1u);
  }
}

// A pool whose words lie as the tag says.
template <class Tag>
class Pool {
 public:
  Pool()
      : memory_(BlockPoolStorage::RequiredBytes(kOptions)),
        ids_(kTakers),
        missing_(1),
        storage_(CarvedFrom(memory_)) {}

  void Reset() const { InitPool<<<1024, kThreads>>>(storage_); }
  void Alloc() const {
    PoolAlloc<Tag><<<kTakers / kThreads, kThreads>>>(storage_, ids_.get(), missing_.get());
  }
  void Release() const {
    PoolRelease<Tag><<<kTakers / kThreads, kThreads>>>(storage_, ids_.get(), missing_.get());
  }
  void Churn() const {
    constexpr uint32_t kGrid = kChurnThreads / kThreads;
    PoolChurn<Tag><<<kGrid, kThreads>>>(storage_, kChurnRounds, missing_.get());
  }
  void TakePrefixBlocks() const { TakePrefix<<<1, 1>>>(storage_, ids_.get(), missing_.get()); }
  void Share() const {
    PrefixShare<Tag>
        <<<kRows * kPrefixBlocks / kThreads, kThreads>>>(storage_, ids_.get(), missing_.get());
  }
  // Whether every call so far was served. Waits for them.
  bool AllServed() const { return missing_.Download()[0] == 0; }

 private:
  static constexpr BlockPoolOptions kOptions = {
      .num_blocks = kPoolBlocks, .block_words = Tag::kBlocks, .gate_words = Tag::kGate};

  static BlockPoolStorage CarvedFrom(const DeviceArray<char>& memory) {
    Carver carver(memory.get());
    return BlockPoolStorage::Carve(carver, kOptions);
  }

  DeviceArray<char> memory_;
  DeviceArray<BlockId> ids_;
  DeviceArray<uint32_t> missing_;
  BlockPoolStorage storage_;
};

}  // namespace kvpage::bench::profile

#endif  // KVPAGE_BENCH_PROFILE_POOL_CUH_
