// SPDX-License-Identifier: Apache-2.0
//
// cuda/cluster_group.cuh
//
// The Group (kvpage/core/group.h) that is a cluster of thread blocks, on GPUs that have them (sm_90
// and later): up to 16 thread blocks of up to 1024 threads, one-dimensional, as one group of up to
// 16384 lanes. Its subgroups are its warps. A batch of as many rows runs as one step with it.
//
// Collectives go through the shared memory of all blocks of the cluster: each warp's leader writes
// to every block, one barrier of the cluster, each warp reads its own block's copy.
//
// Cost: one cluster barrier per collective, about 0.3 us on an H200, ten times a block's.

#ifndef KVPAGE_CUDA_CLUSTER_GROUP_CUH_
#define KVPAGE_CUDA_CLUSTER_GROUP_CUH_

#include <cooperative_groups.h>

#include <cstdint>

#include "kvpage/cuda/thread_block_group.cuh"

namespace kvpage {

inline constexpr uint32_t kMaxClusterBlocks = 16;
inline constexpr uint32_t kPortableClusterBlocks = 8;  // what every GPU with clusters has

// 41 KiB of each block's shared memory: one value per thread, one per warp of the cluster and one
// per block, twice, and what the block needs as a group of its own.
struct ClusterScratch {
  uint64_t lanes[2][1024];
  uint64_t warps[2][kMaxClusterBlocks * 32];
  uint32_t blocks[2][kMaxClusterBlocks];
  ThreadBlockScratch block;
};

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

class ClusterGroup {
 public:
  static constexpr uint32_t kMinLanes = 32;

  // All threads of the cluster make it together. No block touches another's shared memory before
  // that one has started: the first Sync waits for this arrival.
  __device__ explicit ClusterGroup(ClusterScratch& scratch)
      : scratch_(&scratch), block_(Cluster().block_rank()), own_(scratch.block) {
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
  }
  // Before the kernel ends: no block may leave while others still read its shared memory.
  __device__ void Finish() { Sync(); }

  __device__ uint32_t rank() const { return block_ * blockDim.x + threadIdx.x; }
  __device__ uint32_t size() const { return Cluster().num_blocks() * blockDim.x; }
  __device__ void Sync() {
    AwaitStart();
    Cluster().sync();
  }
  __device__ bool Any(bool b) { return SyncAny(b); }
  __device__ bool SyncAny(bool b) {
    uint32_t* const blocks = scratch_->blocks[turn_];
    turn_ ^= 1;
    const uint32_t any = __syncthreads_or(b);
    AwaitStart();
    if (threadIdx.x < num_blocks()) {
      Cluster().map_shared_rank(blocks, threadIdx.x)[block_] = any;
    }
    Cluster().sync();
    return warp_.Any(warp_.rank() < num_blocks() && blocks[warp_.rank()] != 0);
  }

  __device__ uint32_t First(bool b) { return Min(b ? rank() : size()); }
  template <class T>
  __device__ T Sum(T v) {
    T total;
    ExclusiveScan(v, total);
    return total;
  }
  template <class T>
  __device__ T Min(T v) {
    const uint64_t* const warps = PerWarp(warp_.Min(v));
    T least = static_cast<T>(~T{0});
    for (uint32_t i = warp_.rank(); i < num_subgroups(); i += 32) {
      const T other = static_cast<T>(warps[i]);
      if (other < least) least = other;
    }
    return warp_.Min(least);
  }
  template <class T>
  __device__ T ExclusiveScan(T v, T& total) {
    T warp_total;
    const T in_warp = warp_.ExclusiveScan(v, warp_total);
    const uint64_t* const warps = PerWarp(warp_total);
    T all = 0;
    T before = 0;
    for (uint32_t i = warp_.rank(); i < num_subgroups(); i += 32) {
      const T other = static_cast<T>(warps[i]);
      all += other;
      if (i < subgroup_index()) before += other;
    }
    total = warp_.Sum(all);
    return warp_.Sum(before) + in_warp;
  }

  template <class T>
  __device__ T Shuffle(T v, uint32_t lane) {
    return static_cast<T>(Publish(v)[lane]);
  }

  // Valid until this lane enters its next collective; the buffers are used in turn.
  struct Published {
    uint64_t* lanes;
    __device__ uint64_t operator[](uint32_t lane) const {
      return Cluster().map_shared_rank(lanes, lane / blockDim.x)[lane % blockDim.x];
    }
  };
  __device__ Published Publish(uint64_t v) {
    uint64_t* const lanes = scratch_->lanes[turn_];
    turn_ ^= 1;
    lanes[threadIdx.x] = v;
    Sync();
    return {lanes};
  }

  __device__ WarpGroup subgroup() const { return warp_; }
  __device__ uint32_t subgroup_index() const { return rank() / 32; }
  __device__ uint32_t num_subgroups() const { return size() / 32; }
  __device__ uint32_t spread() const { return 0; }

  // This thread block as a group of its own.
  __device__ ThreadBlockGroup& block() { return own_; }
  __device__ uint32_t block_index() const { return block_; }
  __device__ uint32_t num_blocks() const { return Cluster().num_blocks(); }
  // All thread blocks of the grid: those of this cluster, and of others that never meet it.
  __device__ uint32_t grid_block() const { return blockIdx.x; }
  __device__ uint32_t grid_blocks() const { return gridDim.x; }

 private:
  __device__ static cooperative_groups::cluster_group Cluster() {
    return cooperative_groups::this_cluster();
  }

  __device__ void AwaitStart() {
    if (!has_started_) asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
    has_started_ = true;
  }

  // The values that the warps of the cluster passed, in this block's shared memory.
  __device__ const uint64_t* PerWarp(uint64_t v) {
    uint64_t* const warps = scratch_->warps[turn_];
    turn_ ^= 1;
    AwaitStart();
    if (warp_.rank() < Cluster().num_blocks()) {
      Cluster().map_shared_rank(warps, warp_.rank())[subgroup_index()] = v;
    }
    Sync();
    return warps;
  }

  ClusterScratch* scratch_;
  WarpGroup warp_;
  uint32_t block_;
  ThreadBlockGroup own_;
  uint32_t turn_ = 0;
  bool has_started_ = false;
};

static_assert(Group<ClusterGroup>);

#endif  // sm_90

}  // namespace kvpage

#endif  // KVPAGE_CUDA_CLUSTER_GROUP_CUH_
