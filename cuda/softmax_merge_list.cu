// SPDX-License-Identifier: Apache-2.0
//
// The merge of any number of attention states for each token. A row, which is a token and a head,
// is of one warp, or of the four warps of a thread block. Lane i takes the log-sum-exp of state i
// of 32, so that the weights lie in a register cache.
//
// State s is added to sum s mod 4, and the four sums are added at the end: by one warp as by four
// in the same order, so the bits of a row depend on its states alone, not on the batch around it.

#include "cuda/launch_kernel.cuh"
#include "cuda/softmax_launch.h"
#include "cuda/softmax_merge.cuh"
#include "kvpage/core/register_cache.h"
#include "kvpage/cuda/warp_groups.cuh"

namespace kvpage {
namespace {

constexpr uint32_t kSums = 4;
constexpr uint32_t kGroup = 4;  // states of a warp on their way at a time
// Eight warps of neighbouring rows read 4 KB of a state together: with less the memory is slower.
template <uint32_t kWarpsPerRow>
constexpr uint32_t kThreads = 32 * (kWarpsPerRow == 1 ? 8 : kWarpsPerRow);
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

// The states of one row as a warp of it sees them.
template <class In, uint32_t kWarpsPerRow>
class RowStates {
 public:
  static constexpr uint32_t kMySums = kSums / kWarpsPerRow;

  __device__ RowStates(const ListParams& params, const MergeUnits& units, const WarpGroup& warp,
                       int64_t token, uint32_t head)
      : units_(units), warp_(warp), weights_(warp) {
    const MergeStatesArgs& args = params.merge.args;
    const int64_t begin = params.Begin(token);
    count_ = params.Begin(token + 1) - begin;
    lse_ = args.lse + begin * args.heads + head;
    lse_step_ = args.heads;
    o_bytes_ = int64_t{args.heads} * args.dim * BytesOf(args.in);
    o_ = static_cast<const char*>(args.o) + begin * o_bytes_ +
         int64_t{head} * args.dim * BytesOf(args.in);
    if (kWarpsPerRow > 1 && !IsFew()) first_ = threadIdx.x / 32;
  }

  // So few that a warp adds them alone and every lane reads all log-sum-exps by itself.
  __device__ bool IsFew() const { return count_ <= kFew; }

  // The states that this warp adds next; the first while nothing is known of the weights yet.
  __device__ void LoadGroup(const In& in, int64_t at, uint32_t raw, bool any) {
    const uint32_t step = IsFew() ? 1 : kWarpsPerRow;
#pragma unroll
    for (uint32_t j = 0; j < kGroup; ++j) {
      const int64_t state = at + j * step + first_;
      if (any && state < count_) raws_[j] = in.Load(o_ + state * o_bytes_, raw);
    }
  }

  __device__ void AddFew(float (&v)[In::kWidth]) {
    float weights[kFew];
    max_ = -INFINITY;
    any_nan_ = false;
#pragma unroll
    for (uint32_t i = 0; i < kFew; ++i) {
      if (i >= count_) break;
      weights[i] = Lse(i);
    }
#pragma unroll
    for (uint32_t i = 0; i < kFew; ++i) {
      if (i >= count_) break;
      any_nan_ = any_nan_ || isnan(weights[i]);
      max_ = fmaxf(max_, weights[i]);
    }
    sum_ = 0;
    if (count_ == 1 && max_ != -INFINITY) {  // itself, bit for bit
      In::Unpack(raws_[0], v);
      sum_ = 1;
      return;
    }
#pragma unroll
    for (uint32_t i = 0; i < kFew; ++i) {
      if (i >= count_) break;
      const float weight = units_.Weight(weights[i], max_);
      sum_ += weight;
      AddOne(weight, raws_[i], v);
    }
    Scale(v);
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
      for (uint32_t at = 0; at < kChunk; at += kGroup * kWarpsPerRow) {
        if (chunk + at >= count_) break;
#pragma unroll
        for (uint32_t j = 0; j < kGroup; ++j) {  // past the last state weights are 0
          AddOne(weights_.Get(at + j * kWarpsPerRow + first_), raws_[j], sums[j % kMySums]);
        }
        LoadGroup(in, chunk + at + kGroup * kWarpsPerRow, raw, any);
      }
    }
    sum_ = LanesSum(weight_sum);
  }

  // 0 where there is nothing to divide.
  __device__ void Scale(float (&v)[In::kWidth]) const {
    const float factor = sum_ == 0 ? 0.0f : Reciprocal(sum_);
#pragma unroll
    for (int e = 0; e < In::kWidth; ++e) v[e] *= factor;
  }
  __device__ float lse() const { return units_.Lse(max_, sum_, any_nan_); }

 private:
  static constexpr uint32_t kFew = kGroup;

  __device__ float Lse(int64_t i) const { return units_.Read(lse_[i * lse_step_]); }

  // A state of weight 0 is skipped, never multiplied.
  __device__ static void AddOne(float weight, const typename In::Raw& raw,
                                float (&sum)[In::kWidth]) {
    if (weight == 0) return;
    float v[In::kWidth];
    In::Unpack(raw, v);
#pragma unroll
    for (int e = 0; e < In::kWidth; ++e) sum[e] = fmaf(weight, v[e], sum[e]);
  }

  const MergeUnits& units_;
  const WarpGroup& warp_;
  RegisterCache<float, WarpGroup> weights_;
  int64_t count_;
  const float* lse_;
  int64_t lse_step_;
  const char* o_;
  int64_t o_bytes_;
  uint32_t first_ = 0;
  float max_ = -INFINITY;
  float sum_ = 0;
  bool any_nan_ = false;
  typename In::Raw raws_[kGroup];
};

// The four sums in a fixed order.
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
__global__ void __launch_bounds__(kThreads<kWarpsPerRow>, kWarpsPerRow == 1 ? 3 : 6)
    MergeLists(const __grid_constant__ ListParams params, In in, Out out) {
  __shared__ float shared[kWarpsPerRow == 1 ? 1 : kSums][In::kWidth][32];
  const MergeStatesArgs& args = params.merge.args;
  const WarpGroup warp;
  const MergeUnits units(args.lse_base, args.plus_inf_is_empty);
  const uint32_t lane = warp.rank();
  const uint32_t warp_of_block = threadIdx.x / 32;
  const uint32_t warp_of_row = kWarpsPerRow == 1 ? 0 : warp_of_block;
  constexpr int64_t kRowsPerBlock = kThreads<kWarpsPerRow> / 32 / kWarpsPerRow;
  const int64_t rows = params.tokens() * args.heads;
  const int64_t first = blockIdx.x * kRowsPerBlock + (kWarpsPerRow == 1 ? warp_of_block : 0);
  for (int64_t row = first; row < rows; row += gridDim.x * kRowsPerBlock) {
    int64_t token;
    uint32_t head;
    DivMod(row, args.heads, token, head);
    RowStates<In, kWarpsPerRow> states(params, units, warp, token, head);
    if (states.IsFew() && warp_of_row != 0) continue;
    char* const merged = static_cast<char*>(args.merged_o) + row * args.dim * BytesOf(args.out);
    for (uint32_t turn = 0; turn == 0 || turn < params.raws; turn += 32) {
      const uint32_t raw = turn + lane;
      const bool any = raw < params.raws;
      float v[In::kWidth] = {};
      states.LoadGroup(in, 0, raw, any);
      if (states.IsFew()) {
        states.AddFew(v);
      } else {
        if (turn == 0) states.FindMax();
        float sums[kSums][In::kWidth] = {};
        if constexpr (kWarpsPerRow == 1) {
          states.Add(in, raw, any, sums);
        } else {
          float mine[1][In::kWidth] = {};
          states.Add(in, raw, any, mine);
          __syncthreads();  // the turn before has been read
#pragma unroll
          for (int e = 0; e < In::kWidth; ++e) shared[warp_of_block][e][lane] = mine[0][e];
          __syncthreads();
          if (warp_of_block != 0) continue;
#pragma unroll
          for (uint32_t s = 0; s < kSums; ++s) {
#pragma unroll
            for (int e = 0; e < In::kWidth; ++e) sums[s][e] = shared[s][e][lane];
          }
        }
        AddUp(sums);
#pragma unroll
        for (int e = 0; e < In::kWidth; ++e) v[e] = sums[0][e];
        states.Scale(v);
      }
      if (any) out.Store(merged, raw, v);
      if (turn == 0 && lane == 0 && args.merged_lse != nullptr) args.merged_lse[row] = states.lse();
    }
  }
}

struct Launcher {
  cudaStream_t stream;
  const MergeListLaunch& merge;
  MergeListShape shape;

  template <class In, class Out>
  cudaError_t operator()(In in, Out out) const {
    const MergeStatesArgs& args = merge.args;
    const ListParams params = {merge, static_cast<uint32_t>(args.dim) / In::kWidth};
    const int64_t rows = args.tokens * args.heads;
    const auto launch = [&](auto kernel, int64_t rows_per_block, uint32_t threads) {
      const int64_t blocks = (rows + rows_per_block - 1) / rows_per_block;
      const int64_t most = int64_t{1} << 30;
      const dim3 grid(static_cast<uint32_t>(blocks < most ? blocks : most));
      return LaunchKernel(kernel, grid, threads, stream, params, in, out);
    };
    if (shape == MergeListShape::kWarp) {
      return launch(MergeLists<In, Out, 1>, kThreads<1> / 32, kThreads<1>);
    }
    return launch(MergeLists<In, Out, kSums>, 1, kThreads<kSums>);
  }
};

}  // namespace

cudaError_t LaunchMergeList(cudaStream_t stream, const MergeListLaunch& merge, bool vectors,
                            MergeListShape shape) {
  return WithMergeTypes<QuadIn>(merge.args.in, merge.args.out, vectors,
                                Launcher{stream, merge, shape});
}

}  // namespace kvpage
