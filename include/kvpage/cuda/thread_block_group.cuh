// SPDX-License-Identifier: Apache-2.0
//
// kvpage/cuda/thread_block_group.cuh
//
// The Group (kvpage/core/group.h) that is a whole thread block: one-dimensional, a multiple of 32
// threads, at most 1024. Its subgroups are its warps.
//
// Example, in a kernel:
//   __shared__ kvpage::ThreadBlockScratch scratch;
//   kvpage::ThreadBlockGroup block(scratch);
//   __shared__ kvpage::BlockId ids[256];
//   const kvpage::OpStatus status = pool.TryAllocate(block, 256, ids);   // one gate atomic for all
//
// Cost: one barrier per collective (its buffers are used in turn); two levels of warp shuffles.

#ifndef KVPAGE_CUDA_THREAD_BLOCK_GROUP_CUH_
#define KVPAGE_CUDA_THREAD_BLOCK_GROUP_CUH_

#include <cstdint>

#include "kvpage/cuda/warp_groups.cuh"

namespace kvpage {

// 17 KiB of shared memory: one value per thread and one per warp, twice.
struct ThreadBlockScratch {
  uint64_t lanes[2][1024];
  uint64_t warps[2][32];
};

class ThreadBlockGroup {
 public:
  static constexpr uint32_t kMinLanes = 32;

  // All threads make it together; another group may have used the scratch before.
  __device__ explicit ThreadBlockGroup(ThreadBlockScratch& scratch) : scratch_(&scratch) { Sync(); }

  __device__ uint32_t rank() const { return threadIdx.x; }
  __device__ uint32_t size() const { return blockDim.x; }
  __device__ void Sync() const { __syncthreads(); }
  __device__ bool Any(bool b) const { return SyncAny(b); }
  __device__ bool SyncAny(bool b) const { return __syncthreads_or(b) != 0; }  // Sync and Any

  __device__ uint32_t First(bool b) { return Min(b ? rank() : size()); }
  template <class T>
  __device__ T Sum(T v) {
    return warp_.Sum(PerWarp(warp_.Sum(v), T{0}));
  }
  template <class T>
  __device__ T Min(T v) {
    return warp_.Min(PerWarp(warp_.Min(v), static_cast<T>(~T{0})));
  }
  template <class T>
  __device__ T ExclusiveScan(T v, T& total) {
    T warp_total;
    const T in_warp = warp_.ExclusiveScan(v, warp_total);
    const T before = warp_.ExclusiveScan(PerWarp(warp_total, T{0}), total);
    return warp_.Shuffle(before, subgroup_index()) + in_warp;
  }

  template <class T>
  __device__ T Shuffle(T v, uint32_t lane) {
    return static_cast<T>(Publish(v)[lane]);
  }

  // Valid until this lane enters its next collective; the buffers are used in turn.
  struct Published {
    const uint64_t* lanes;
    __device__ uint64_t operator[](uint32_t lane) const { return lanes[lane]; }
  };
  __device__ Published Publish(uint64_t v) {
    uint64_t* const lanes = scratch_->lanes[turn_];
    turn_ ^= 1;
    lanes[rank()] = v;
    Sync();
    return {lanes};
  }

  __device__ WarpGroup subgroup() const { return warp_; }
  __device__ uint32_t subgroup_index() const { return threadIdx.x / 32; }
  __device__ uint32_t num_subgroups() const { return blockDim.x / 32; }
  __device__ uint32_t spread() const { return warp_.spread() - subgroup_index(); }

 private:
  // In lane l of every warp: the value that warp l passed, or `none` if there is no such warp.
  template <class T>
  __device__ T PerWarp(T v, T none) {
    uint64_t* const warps = scratch_->warps[turn_];
    turn_ ^= 1;
    if (warp_.rank() == 0) warps[subgroup_index()] = v;
    Sync();
    return warp_.rank() < num_subgroups() ? static_cast<T>(warps[warp_.rank()]) : none;
  }

  ThreadBlockScratch* scratch_;
  WarpGroup warp_;
  uint32_t turn_ = 0;
};

static_assert(Group<ThreadBlockGroup>);

}  // namespace kvpage

#endif  // KVPAGE_CUDA_THREAD_BLOCK_GROUP_CUH_
