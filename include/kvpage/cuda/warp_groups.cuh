// SPDX-License-Identifier: Apache-2.0
//
// kvpage/cuda/warp_groups.cuh
//
// The Group (kvpage/core/group.h) inside one warp: WarpGroup is all 32 lanes, CoalescedGroup the
// lanes that happen to be together where it is made.
//
// Example, in a kernel:
//   kvpage::WarpGroup warp;                 // every lane of the warp is here
//   if (wanted) {
//     kvpage::CoalescedGroup together;      // the lanes that came into this branch
//     const kvpage::BlockId mine = pool.TryAllocateOne(together);
//   }
//
// A group can be made once and used for many calls. Its lanes make its collective calls together.
// Needs sm_70's independent thread scheduling; sums and merges use the warp reductions of sm_80
// where there are any.

#ifndef KVPAGE_CUDA_WARP_GROUPS_CUH_
#define KVPAGE_CUDA_WARP_GROUPS_CUH_

#include <cstdint>

#include "kvpage/core/bits.h"
#include "kvpage/core/group.h"

namespace kvpage {

// The number of this warp in its grid: the same in all its lanes, different in all other warps.
__device__ inline uint32_t WarpOfGrid() {
  const uint32_t block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  const uint32_t thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  const uint32_t warps = (blockDim.x * blockDim.y * blockDim.z + 31) / 32;
  return block * warps + thread / 32;
}

__device__ inline uint32_t LaneOfWarp() {
  uint32_t lane;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  return lane;
}

// One thread of a kernel as a group of its own.
__device__ inline ThreadGroup ThisThread() { return ThreadGroup(WarpOfGrid() * 32 + LaneOfWarp()); }

// The collectives that need no more than a shuffle, for the group `Self` with lanes `mask()`.
template <class Self>
class WarpCollectives {
 public:
  __device__ void Sync() const { __syncwarp(self().mask()); }
  __device__ bool Any(bool b) const { return __any_sync(self().mask(), b) != 0; }

  // The lowest rank is the lowest lane, in any group.
  __device__ uint32_t First(bool b) const {
    const uint32_t lanes = __ballot_sync(self().mask(), b);
    return lanes == 0 ? self().size() : self().RankOf(LowestBit(lanes));
  }
  template <class T>
  __device__ T Sum(T v) const {
    T total;
    self().ExclusiveScan(v, total);
    return total;
  }
  __device__ uint32_t Sum(uint32_t v) const { return AddOver(self().mask(), v); }
  template <class T>
  __device__ T Min(T v) const {
    for (uint32_t step = 1; step < self().size(); step <<= 1) {
      const T other = self().Shuffle(v, (self().rank() + step) % self().size());
      if (other < v) v = other;
    }
    return v;
  }
  __device__ uint32_t Min(uint32_t v) const {
#if __CUDA_ARCH__ >= 800
    return __reduce_min_sync(self().mask(), v);
#else
    return Min<uint32_t>(v);
#endif
  }
  template <class T>
  __device__ T ExclusiveScan(T v, T& total) const {
    const uint32_t rank = self().rank();
    T sum = v;
    for (uint32_t step = 1; step < self().size(); step <<= 1) {
      const T below = self().Shuffle(sum, rank >= step ? rank - step : rank);
      if (rank >= step) sum += below;
    }
    total = self().Shuffle(sum, self().size() - 1);
    return sum - v;
  }

  class Published {
   public:
    __device__ Published(const Self& group, uint64_t value) : group_(group), value_(value) {}
    __device__ uint64_t operator[](uint32_t lane) const { return group_.Shuffle(value_, lane); }

   private:
    const Self& group_;
    uint64_t value_;
  };
  __device__ Published Publish(uint64_t v) const { return Published(self(), v); }

  // A lane of each distinct key speaks for all its peers; after kMergedKeys keys the rest speak for
  // themselves, because a round per key would then cost more than it saves. All speak at once.
  template <class F>
  __device__ void OrByKey(bool active, uint32_t key, uint64_t value, F f) const {
    uint32_t left = __ballot_sync(self().mask(), active);
    bool speaks = active;
#pragma unroll 1
    for (uint32_t round = 0; left != 0 && round < kMergedKeys; ++round) {
      const uint32_t speaker = LowestBit(left);
      // Every lane takes part, also one that is not active.
      const uint32_t its_key = __shfl_sync(self().mask(), key, speaker);
      const bool is_peer = active && key == its_key;
      const uint64_t merged = OrOver(self().mask(), is_peer ? value : 0);
      left &= ~__ballot_sync(self().mask(), is_peer);
      if (is_peer) {
        value = merged;
        speaks = LaneOfWarp() == speaker;
      }
    }
    if (speaks) f(key, value);
    Sync();
  }

  __device__ Self subgroup() const { return self(); }
  __device__ uint32_t subgroup_index() const { return 0; }
  __device__ uint32_t num_subgroups() const { return 1; }

 private:
  static constexpr uint32_t kMergedKeys = 4;

  __device__ const Self& self() const { return static_cast<const Self&>(*this); }

  __device__ static uint32_t AddOver(uint32_t mask, uint32_t value) {
#if __CUDA_ARCH__ >= 800
    return __reduce_add_sync(mask, value);
#else
    uint32_t sum = 0;
    for (uint32_t left = mask; left != 0; left &= left - 1) {
      sum += __shfl_sync(mask, value, LowestBit(left));
    }
    return sum;
#endif
  }
  __device__ static uint64_t OrOver(uint32_t mask, uint64_t value) {
#if __CUDA_ARCH__ >= 800
    const uint32_t low = __reduce_or_sync(mask, static_cast<uint32_t>(value));
    const uint32_t high = __reduce_or_sync(mask, static_cast<uint32_t>(value >> 32));
    return uint64_t{high} << 32 | low;
#else
    uint64_t merged = 0;
    for (uint32_t left = mask; left != 0; left &= left - 1) {
      merged |= __shfl_sync(mask, static_cast<unsigned long long>(value), LowestBit(left));
    }
    return merged;
#endif
  }
};

class WarpGroup : public WarpCollectives<WarpGroup> {
 public:
  static constexpr uint32_t kMinLanes = 32;

  __device__ WarpGroup() : rank_(LaneOfWarp()), spread_(WarpOfGrid()) {}

  __device__ uint32_t rank() const { return rank_; }
  __device__ uint32_t size() const { return 32; }
  __device__ uint32_t mask() const { return ~0u; }
  __device__ static uint32_t RankOf(uint32_t lane) { return lane; }
  __device__ uint64_t Shuffle(uint64_t v, uint32_t lane) const {
    return __shfl_sync(~0u, static_cast<unsigned long long>(v), lane);
  }
  __device__ uint32_t Shuffle(uint32_t v, uint32_t lane) const { return __shfl_sync(~0u, v, lane); }
  __device__ uint32_t spread() const { return spread_; }

 private:
  uint32_t rank_;
  uint32_t spread_;
};

class CoalescedGroup : public WarpCollectives<CoalescedGroup> {
 public:
  static constexpr uint32_t kMinLanes = 1;

  __device__ CoalescedGroup() : CoalescedGroup(__activemask()) {}
  // The lanes of `mask`; all of them make the group together.
  __device__ explicit CoalescedGroup(uint32_t mask)
      : mask_(mask),
        rank_(PopCount(mask & ((1u << LaneOfWarp()) - 1))),
        size_(PopCount(mask)),
        spread_(WarpOfGrid()) {}

  __device__ uint32_t rank() const { return rank_; }
  __device__ uint32_t size() const { return size_; }
  __device__ uint32_t mask() const { return mask_; }
  __device__ uint32_t RankOf(uint32_t lane) const { return PopCount(mask_ & ((1u << lane) - 1)); }
  __device__ uint64_t Shuffle(uint64_t v, uint32_t lane) const {
    return __shfl_sync(mask_, static_cast<unsigned long long>(v), SelectBit(mask_, lane));
  }
  __device__ uint32_t Shuffle(uint32_t v, uint32_t lane) const {
    return __shfl_sync(mask_, v, SelectBit(mask_, lane));
  }
  __device__ uint32_t spread() const { return spread_; }

 private:
  uint32_t mask_;
  uint32_t rank_;
  uint32_t size_;
  uint32_t spread_;
};

static_assert(Group<WarpGroup> && Group<CoalescedGroup>);

}  // namespace kvpage

#endif  // KVPAGE_CUDA_WARP_GROUPS_CUH_
