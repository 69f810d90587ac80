// SPDX-License-Identifier: Apache-2.0
//
// cuda/softmax_state.cuh
//
// The state of a softmax over some elements, (max, sum of exp(x - max)), and how states merge: in
// a thread, over the lanes of a row, over a thread block.
//
// A merge costs two exponentials, so nobody merges per element: a thread takes the largest of its
// elements first. `scale` below is what a difference is multiplied by before exp2: the caller's
// scale times log2 e. The difference comes first: scaling x itself overflows above 2.4e38.
//
// NaN and infinity need no branch:
//   the maximum drops NaN (fmaxf), the sum does not: a NaN enters as exp2(NaN)
//   nothing but -inf: max -inf, sum 0. A +inf: max +inf, sum +inf, or NaN if there is a NaN too
// both because differences are from Anchor(max), which is 0 for an infinite maximum.

#ifndef KVPAGE_CUDA_SOFTMAX_STATE_CUH_
#define KVPAGE_CUDA_SOFTMAX_STATE_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "cuda/softmax_elements.cuh"
#include "kvpage/core/softmax_types.h"

namespace kvpage {

inline constexpr float kLog2E = 1.4426950408889634f;

struct SoftmaxState {
  float max = -INFINITY;
  float sum = 0;
};

// Within 2 units in the last place; what would be denormal is 0.
__device__ inline float Exp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

__device__ inline float Anchor(float max) { return fabsf(max) == INFINITY ? 0.0f : max; }

// What a sum is multiplied by when its maximum becomes `to`, which is not less.
__device__ inline float Decay(float from, float to, float scale) {
  return from == to ? 1.0f : Exp2((from - to) * scale);
}

// Symmetric to the last bit: a fused multiply-add would round one side and not the other, and
// lanes that exchange states would disagree.
__device__ inline SoftmaxState Merged(const SoftmaxState& a, const SoftmaxState& b, float scale) {
  const float max = fmaxf(a.max, b.max);
  return {max, __fadd_rn(__fmul_rn(a.sum, Decay(a.max, max, scale)),
                         __fmul_rn(b.sum, Decay(b.max, max, scale)))};
}

// Over groups of `lanes` neighbouring lanes, a power of two; the result in each of them.
__device__ inline float LanesMax(float v, uint32_t lanes = 32) {
  for (uint32_t step = lanes / 2; step > 0; step /= 2) {
    v = fmaxf(v, __shfl_xor_sync(~0u, v, step));
  }
  return v;
}
__device__ inline float LanesSum(float v, uint32_t lanes = 32) {
  for (uint32_t step = lanes / 2; step > 0; step /= 2) v += __shfl_xor_sync(~0u, v, step);
  return v;
}
__device__ inline SoftmaxState LanesMerged(const SoftmaxState& mine, float scale) {
  const float max = LanesMax(mine.max);
  return {max, LanesSum(mine.sum * Decay(mine.max, max, scale))};
}

// Over a thread block of at most 32 warps; the result in every thread of warp 0, or in every
// thread where kAll. One barrier; `scratch` may be used again behind another.
template <bool kAll>
__device__ SoftmaxState BlockMerged(SoftmaxState mine, float scale, SoftmaxState (&scratch)[32]) {
  const uint32_t lane = threadIdx.x % 32;
  mine = LanesMerged(mine, scale);
  if (lane == 0) scratch[threadIdx.x / 32] = mine;
  __syncthreads();
  if (!kAll && threadIdx.x >= 32) return mine;
  return LanesMerged(lane < blockDim.x / 32 ? scratch[lane] : SoftmaxState{}, scale);
}

// What this thread has seen of a stream of Raws.
template <class In>
struct OnlineState {
  SoftmaxState state;
  float anchor = 0;
  float scale;
  bool keep_max;  // state.max is given

  template <int kRaws>
  __device__ void Add(const typename In::Raw (&raws)[kRaws]) {
    if (!keep_max) {
      const float max = In::Max(raws);
      if (max > state.max) {
        state.sum *= Exp2((state.max - max) * scale);
        state.max = max;
        anchor = Anchor(max);
      }
    }
    float sum = 0;
#pragma unroll
    for (int r = 0; r < kRaws; ++r) {
      float v[In::kWidth];
      In::Unpack(raws[r], v);
#pragma unroll
      for (int e = 0; e < In::kWidth; ++e) sum += Exp2((v[e] - anchor) * scale);
    }
    state.sum += sum;
  }
};

// Thread blocks of kScanThreads read tiles of kBatch Raws for each thread.
inline constexpr uint32_t kScanThreads = 256;
template <class In>
inline constexpr int64_t kTileRaws = int64_t{kScanThreads} * In::kBatch;

// Adds the tiles first, first + step, ... below `end` of a row of `raws` Raws.
template <Reuse kReuse, class In>
__device__ void ScanTiles(const In& in, const char* row, int64_t raws, int64_t first, int64_t step,
                          int64_t end, OnlineState<In>& online) {
  for (int64_t tile = first; tile < end; tile += step) {
    const int64_t begin = tile * kTileRaws<In> + threadIdx.x;
    if ((tile + 1) * kTileRaws<In> <= raws) {
      typename In::Raw batch[In::kBatch];
#pragma unroll
      for (int b = 0; b < In::kBatch; ++b) {
        batch[b] = in.template Load<kReuse>(row, begin + b * int64_t{kScanThreads});
      }
      online.Add(batch);
    } else {
      for (int64_t i = begin; i < raws; i += kScanThreads) {
        const typename In::Raw one[1] = {in.template Load<kReuse>(row, i)};
        online.Add(one);
      }
    }
  }
}

}  // namespace kvpage

#endif  // KVPAGE_CUDA_SOFTMAX_STATE_CUH_
