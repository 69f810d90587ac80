// SPDX-License-Identifier: Apache-2.0
//
// The merge of any number of attention states for each token. A row, which is a token and a head, is
// of one warp, or of the eight warps of a thread block where there are too few rows to fill the GPU.
// Lane i takes the log-sum-exp of state i of 32, so that the weights lie in a register cache.
//
// State s is added to sum s mod 8, and the eight sums are added at the end: by one warp as by eight
// in the same order, so the bits of a row depend on its states alone, not on the batch around it.

#include "cuda/launch_kernel.cuh"
#include "cuda/softmax_launch.h"
#include "cuda/softmax_merge.cuh"
#include "kvpage/core/register_cache.h"
#include "kvpage/cuda/warp_groups.cuh"

namespace kvpage {
namespace {

constexpr uint32_t kWarps = 8;
constexpr uint32_t kThreads = 32 * kWarps;
constexpr uint32_t kSums = 8;
constexpr int64_t kChunk = RegisterCache<float, WarpGroup>::kEntries;

struct ListParams {
  MergeListLaunch merge;
  uint32_t raws;  // of a row

  __device__ int64_t tokens() const {
    if (merge.tokens == nullptr) return merge.args.tokens;
    const int64_t tokens = Id(merge.tokens, 0);
    return tokens < merge.args.tokens ? tokens : merge.args.tokens;
  }
  // The first state of a token; also for the token behind the last.
  __device__ int64_t Begin(int64_t token) const {
    return merge.indptr == nullptr ? token * merge.args.k : Id(merge.indptr, token);
  }
  __device__ int64_t Id(const void* ids, int64_t i) const {
    return merge.wide_ids ? static_cast<const int64_t*>(ids)[i]
                          : static_cast<const int32_t*>(ids)[i];
  }
};

// The states of one row as one warp of `kWarpsPerRow` sees them.
template <class In, uint32_t kWarpsPerRow>
class RowStates {
 public:
  static constexpr uint32_t kMySums = kSums / kWarpsPerRow;
  // States in flight: eight for a warp alone; four for each of eight, which are all of a chunk.
  static constexpr uint32_t kGroup = kWarpsPerRow == 1 ? 8 : 4;

  __device__ RowStates(const ListParams& params, const MergeUnits& units, const WarpGroup& warp,
                       int64_t token, uint32_t head)
      : units_(units), warp_(warp), weights_(warp), begin_(params.Begin(token)) {
    const MergeStatesArgs& args = params.merge.args;
    count_ = params.Begin(token + 1) - begin_;
    lse_ = args.lse + begin_ * args.heads + head;
    lse_step_ = args.heads;
    o_bytes_ = int64_t{args.heads} * args.dim * BytesOf(args.in);
    o_ = static_cast<const char*>(args.o) + begin_ * o_bytes_ +
         int64_t{head} * args.dim * BytesOf(args.in);
    first_ = kWarpsPerRow == 1 ? 0 : threadIdx.x / 32;
  }

  __device__ int64_t count() const { return count_; }

  // The states that this warp adds next, while nothing is known of their weights yet.
  __device__ void LoadGroup(const In& in, int64_t at, uint32_t raw, bool any) {
#pragma unroll
    for (uint32_t j = 0; j < kGroup; ++j) {
      const int64_t state = at + j * kWarpsPerRow + first_;
      if (any && state < count_) raws_[j] = in.Load(o_ + state * o_bytes_, raw);
    }
  }

  // Reads all log-sum-exps.
  __device__ void FindMax() {
    bool any_nan = false;
    for (int64_t i = warp_.rank(); i < count_; i += kChunk) {
      const float lse = Lse(i);
      any_nan = any_nan || isnan(lse);
      max_ = fmaxf(max_, lse);
    }
    max_ = LanesMax(max_);
    any_nan_ = warp_.Any(any_nan);
  }

  // Adds the states to `sums`, each by its weight; the first group has been loaded.
  __device__ void Add(const In& in, uint32_t raw, bool any, float (&sums)[kMySums][In::kWidth]) {
    float weight_sum = 0;
    for (int64_t chunk = 0; chunk < count_; chunk += kChunk) {
      weights_.Fill([&](uint32_t i) {
        const float weight = chunk + i < count_ ? units_.Weight(Lse(chunk + i), max_) : 0.0f;
        weight_sum += weight;
        return weight;
      });
#pragma unroll 1
      for (uint32_t group = 0; group < kChunk; group += kGroup * kWarpsPerRow) {
        if (chunk + group >= count_) break;
#pragma unroll
        for (uint32_t j = 0; j < kGroup; ++j) {
          const float weight = weights_.Get(group + j * kWarpsPerRow + first_);
          if (weight == 0) continue;  // also past the last state
          float v[In::kWidth];
          In::Unpack(raws_[j], v);
#pragma unroll
          for (int e = 0; e < In::kWidth; ++e) {
            sums[j % kMySums][e] = fmaf(weight, v[e], sums[j % kMySums][e]);
          }
        }
        LoadGroup(in, chunk + group + kGroup * kWarpsPerRow, raw, any);
      }
    }
    sum_ = LanesSum(weight_sum);
  }

  // A state alone is itself, unless it is empty.
  __device__ bool IsCopy() const { return count_ == 1 && max_ != -INFINITY; }
  __device__ void CopyTo(float (&v)[In::kWidth]) const { In::Unpack(raws_[0], v); }
  // 0 where there is nothing to divide.
  __device__ float factor() const { return sum_ == 0 ? 0.0f : 1.0f / sum_; }
  __device__ float lse() const {
    return IsCopy() ? max_ : units_.Lse(max_, sum_, any_nan_);
  }

 private:
  __device__ float Lse(int64_t i) const { return units_.Read(lse_[i * lse_step_]); }

  const MergeUnits& units_;
  const WarpGroup& warp_;
  RegisterCache<float, WarpGroup> weights_;
  int64_t begin_;
  int64_t count_;
  const float* lse_;
  int64_t lse_step_;
  const char* o_;
  int64_t o_bytes_;
  uint32_t first_;
  float max_ = -INFINITY;
  float sum_ = 0;
  bool any_nan_ = false;
  typename In::Raw raws_[kGroup];
};

// The eight sums in a fixed order.
template <int kWidth>
__device__ void AddUp(float (&sums)[kSums][kWidth]) {
#pragma unroll
  for (uint32_t half = kSums / 2; half > 0; half /= 2) {
#pragma unroll
    for (uint32_t s = 0; s < half; ++s) {
#pragma unroll
      for (int e = 0; e < kWidth; ++e) sums[s][e] += sums[s + half][e];
    }
  }
}

template <class In, class Out, uint32_t kWarpsPerRow>
__global__ void __launch_bounds__(kThreads)
    MergeLists(const __grid_constant__ ListParams params, In in, Out out) {
  using Row = RowStates<In, kWarpsPerRow>;
  __shared__ float shared[kWarpsPerRow == 1 ? 1 : kSums][In::kWidth][32];
  const MergeStatesArgs& args = params.merge.args;
  const WarpGroup warp;
  const MergeUnits units(args.lse_base, args.plus_inf_is_empty);
  const uint32_t lane = warp.rank();
  const uint32_t warp_of_block = threadIdx.x / 32;
  constexpr int64_t kRowsPerBlock = kWarps / kWarpsPerRow;
  const int64_t rows = params.tokens() * args.heads;
  const int64_t first = blockIdx.x * kRowsPerBlock + (kWarpsPerRow == 1 ? warp_of_block : 0);
  for (int64_t row = first; row < rows; row += gridDim.x * kRowsPerBlock) {
    int64_t token;
    uint32_t head;
    DivMod(row, args.heads, token, head);
    Row states(params, units, warp, token, head);
    char* const merged = static_cast<char*>(args.merged_o) + row * args.dim * BytesOf(args.out);
    for (uint32_t turn = 0; turn == 0 || turn < params.raws; turn += 32) {
      const uint32_t raw = turn + lane;
      const bool any = raw < params.raws;
      states.LoadGroup(in, 0, raw, any);
      if (turn == 0) states.FindMax();
      float v[In::kWidth];
      float sums[kSums][In::kWidth] = {};
      if (states.IsCopy()) {
        states.CopyTo(v);
      } else if constexpr (kWarpsPerRow == 1) {
        states.Add(in, raw, any, sums);
      } else {
        float mine[1][In::kWidth] = {};
        states.Add(in, raw, any, mine);
        __syncthreads();  // the turn before has been read
#pragma unroll
        for (int e = 0; e < In::kWidth; ++e) shared[warp_of_block][e][lane] = mine[0][e];
        __syncthreads();
        if (warp_of_block == 0) {
#pragma unroll
          for (uint32_t s = 0; s < kSums; ++s) {
#pragma unroll
            for (int e = 0; e < In::kWidth; ++e) sums[s][e] = shared[s][e][lane];
          }
        }
      }
      if (kWarpsPerRow > 1 && warp_of_block != 0) continue;
      if (!states.IsCopy()) {
        AddUp(sums);
#pragma unroll
        for (int e = 0; e < In::kWidth; ++e) v[e] = sums[0][e] * states.factor();
      }
      if (any) out.Store(merged, raw, v);
      if (turn == 0 && lane == 0 && args.merged_lse != nullptr) args.merged_lse[row] = states.lse();
    }
  }
}

struct Launcher {
  cudaStream_t stream;
  const MergeListLaunch& merge;
  uint32_t warps_per_row;

  template <class In, class Out>
  cudaError_t operator()(In in, Out out) const {
    const MergeStatesArgs& args = merge.args;
    const ListParams params = {merge, static_cast<uint32_t>(args.dim) / In::kWidth};
    const int64_t rows_per_block = kWarps / warps_per_row;
    const int64_t blocks = (args.tokens * args.heads + rows_per_block - 1) / rows_per_block;
    const int64_t most = int64_t{1} << 30;
    const dim3 grid(static_cast<uint32_t>(blocks < most ? blocks : most));
    if (warps_per_row == 1) {
      return LaunchKernel(MergeLists<In, Out, 1>, grid, kThreads, stream, params, in, out);
    }
    return LaunchKernel(MergeLists<In, Out, kWarps>, grid, kThreads, stream, params, in, out);
  }
};

}  // namespace

cudaError_t LaunchMergeList(cudaStream_t stream, const MergeListLaunch& merge, bool vectors,
                            uint32_t warps_per_row) {
  return WithMergeTypes<QuadIn>(merge.args.in, merge.args.out, vectors,
                                Launcher{stream, merge, warps_per_row});
}

}  // namespace kvpage
