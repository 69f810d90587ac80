// SPDX-License-Identifier: Apache-2.0
//
// The merge of two attention states. A row, which is a token and a head, belongs to neighbouring
// lanes of one warp, 16 bytes for each (one element, where rows are not aligned). In place, the
// log-sum-exp is written where other lanes have read it: so a row must not be of two warps.

#include "cuda/launch_kernel.cuh"
#include "cuda/softmax_launch.h"
#include "cuda/softmax_merge.cuh"

namespace kvpage {
namespace {

constexpr uint32_t kThreads = 256;
// As many as an H200 runs at a time: each then has many rows, and the next on its way.
constexpr int64_t kMaxBlocks = 132 * 4;

struct PairParams {
  MergePairArgs args;
  int64_t rows;
  int64_t in_bytes;  // of an element
  int64_t out_bytes;
  uint32_t raws;   // of a row
  uint32_t lanes;  // for a row, a power of two
  uint32_t turns;  // of the lanes, to have all Raws
  bool in_place;
};

// How a row is merged.
class PairWeights {
 public:
  __device__ PairWeights(const MergePairArgs& args, bool skip, float a_lse, float b_lse)
      : units_(args.lse_base, args.plus_inf_is_empty), a_lse_(a_lse), b_lse_(b_lse) {
    skip_ = skip;
    if (skip) return;
    a_lse_ = units_.Read(a_lse);
    b_lse_ = units_.Read(b_lse);
    max_ = fmaxf(a_lse_, b_lse_);
    a_ = units_.Weight(a_lse_, max_);
    b_ = units_.Weight(b_lse_, max_);
    sum_ = a_ + b_;
  }

  // v becomes the merged elements. A state of weight 0 is skipped, never multiplied.
  template <int kCount>
  __device__ void Apply(float (&v)[kCount], const float (&w)[kCount]) const {
    const float factor = Reciprocal(sum_);
    const float a = a_ * factor;
    const float b = b_ * factor;
    if (a_ == 0) {
#pragma unroll
      for (int i = 0; i < kCount; ++i) v[i] = b_ == 0 ? 0.0f : b * w[i];
    } else if (b_ == 0) {
#pragma unroll
      for (int i = 0; i < kCount; ++i) v[i] *= a;
    } else {
#pragma unroll
      for (int i = 0; i < kCount; ++i) v[i] = fmaf(a, v[i], b * w[i]);
    }
  }
  __device__ float lse() const {
    return skip_ ? a_lse_ : units_.Lse(max_, sum_, isnan(a_lse_) || isnan(b_lse_));
  }

 private:
  MergeUnits units_;
  float a_lse_;
  float b_lse_;
  float max_ = 0;
  float a_ = 1;
  float b_ = 0;
  float sum_ = 1;
  bool skip_;
};

// One row as its lanes see it.
struct RowAt {
  int64_t token = 0;
  int64_t head = 0;

  RowAt() = default;
  __device__ RowAt(const PairParams& params, int64_t row) {
    uint32_t remainder;
    DivMod(row, params.args.heads, token, remainder);
    head = remainder;
  }
  __device__ int64_t Element(const StateStrides& s) const {
    return token * s.token + head * s.head;
  }
  __device__ int64_t Lse(const StateStrides& s) const {
    return token * s.lse_token + head * s.lse_head;
  }
};

// What one lane has asked for: a Raw of a row.
template <class In>
struct PairLoad {
  RowAt at;
  uint32_t raw;
  bool any = false;
  bool skip = false;
  float a_lse = 0;
  float b_lse = 0;
  typename In::Raw a;
  typename In::Raw b;

  __device__ void Begin(const PairParams& params, const In& in, int64_t unit, uint32_t lane) {
    const MergePairArgs& args = params.args;
    const int64_t row = params.turns == 1 ? unit : unit / params.turns;
    raw =
        lane + (params.turns == 1 ? 0 : static_cast<uint32_t>(unit % params.turns) * params.lanes);
    any = row < params.rows;
    if (!any) return;
    at = RowAt(params, row);
    skip = args.skip_tokens != nullptr && args.skip_tokens[at.token] != 0;
    any = !(skip && params.in_place);
    if (!any) return;
    a_lse = args.a.lse[at.Lse(args.a.strides)];
    if (!skip) b_lse = args.b.lse[at.Lse(args.b.strides)];
    if (raw >= params.raws) return;
    // A stride between elements is other than 1 only where a Raw is one element.
    const int64_t a_step = In::kWidth == 1 ? args.a.strides.element : 1;
    const int64_t b_step = In::kWidth == 1 ? args.b.strides.element : 1;
    a = in.Load(static_cast<const char*>(args.a.o) + at.Element(args.a.strides) * params.in_bytes,
                raw * a_step);
    if (skip) {
      b = a;
    } else {
      b = in.Load(static_cast<const char*>(args.b.o) + at.Element(args.b.strides) * params.in_bytes,
                  raw * b_step);
    }
  }
};

// Lanes take Raws of one row after another, the next always on its way.
template <class In, class Out>
__global__ void __launch_bounds__(kThreads, 4)
    MergePairs(const __grid_constant__ PairParams params, In in, Out out) {
  const MergePairArgs& args = params.args;
  const int64_t o_step = In::kWidth == 1 ? args.merged.strides.element : 1;
  const uint32_t lane = threadIdx.x & (params.lanes - 1);
  // A row's turns are its lanes' own, so that a log-sum-exp is written behind the last of them.
  const int64_t group = (int64_t{blockIdx.x} * kThreads + threadIdx.x) / params.lanes;
  const int64_t groups = int64_t{gridDim.x} * kThreads / params.lanes;
  const int64_t rounds = (params.rows + groups - 1) / groups * params.turns;
  const auto unit_of = [&](int64_t round) {
    if (params.turns == 1) return group + round * groups;
    return (group + round / params.turns * groups) * params.turns + round % params.turns;
  };
  PairLoad<In> next;
  next.Begin(params, in, unit_of(0), lane);
  for (int64_t round = 0; round < rounds; ++round) {
    const PairLoad<In> now = next;
    if (round + 1 < rounds) next.Begin(params, in, unit_of(round + 1), lane);
    __syncwarp();  // the lanes of a row have read its log-sum-exps
    if (!now.any) continue;
    const PairWeights weights(args, now.skip, now.a_lse, now.b_lse);
    if (now.raw < params.raws) {
      float v[In::kWidth], w[In::kWidth];
      In::Unpack(now.a, v);
      In::Unpack(now.b, w);
      weights.Apply(v, w);
      out.Store(static_cast<char*>(args.merged.o) +
                    now.at.Element(args.merged.strides) * params.out_bytes,
                now.raw * o_step, v);
    }
    // By the lane of the first Raw of the last turn.
    if (now.raw == (params.turns - 1) * params.lanes) {
      args.merged.lse[now.at.Lse(args.merged.strides)] = weights.lse();
    }
  }
}

// The plain case, which is nearly every call: contiguous rows of 2^n Raws, 32 at most. A thread for
// each Raw, nothing but loads, weights and a store; the loop above takes 1.3 times as long.
template <class In, class Out>
__global__ void __launch_bounds__(kThreads)
    MergeFlatPairs(const __grid_constant__ PairParams params, In in, Out out) {
  const MergePairArgs& args = params.args;
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  const int64_t row = i / params.lanes;
  const bool any = row < params.rows;
  float a_lse = 0, b_lse = 0;
  if (any) {
    const auto a = in.Load(static_cast<const char*>(args.a.o), i);
    const auto b = in.Load(static_cast<const char*>(args.b.o), i);
    a_lse = args.a.lse[row];
    b_lse = args.b.lse[row];
    float v[In::kWidth], w[In::kWidth];
    In::Unpack(a, v);
    In::Unpack(b, w);
    PairWeights(args, false, a_lse, b_lse).Apply(v, w);
    out.Store(static_cast<char*>(args.merged.o), i, v);
  }
  __syncwarp();  // the lanes of the row have read
  if (any && i % params.lanes == 0) {
    args.merged.lse[row] = PairWeights(args, false, a_lse, b_lse).lse();
  }
}

struct Launcher {
  cudaStream_t stream;
  const MergePairArgs& args;

  bool IsContiguous(const StateStrides& s) const {
    return s.token == int64_t{args.heads} * args.dim && s.head == args.dim && s.element == 1 &&
           s.lse_token == args.heads && s.lse_head == 1;
  }
  template <class In, class Out>
  cudaError_t operator()(In in, Out out) const {
    PairParams params = {.args = args,
                         .rows = args.tokens * args.heads,
                         .in_bytes = BytesOf(args.in),
                         .out_bytes = BytesOf(args.out),
                         .raws = static_cast<uint32_t>(args.dim) / In::kWidth,
                         .lanes = 1,
                         .turns = 1,
                         .in_place = args.merged.o == args.a.o && args.merged.lse == args.a.lse};
    while (params.lanes < 32 && params.lanes < params.raws) params.lanes *= 2;
    if (params.raws > params.lanes) params.turns = (params.raws + params.lanes - 1) / params.lanes;
    const int64_t rows_per_block = kThreads / params.lanes;
    const int64_t blocks = (params.rows + rows_per_block - 1) / rows_per_block;
    if (args.skip_tokens == nullptr && params.raws == params.lanes && blocks < int64_t{1} << 31 &&
        IsContiguous(args.a.strides) && IsContiguous(args.b.strides) &&
        IsContiguous(args.merged.strides)) {
      return LaunchKernel(MergeFlatPairs<In, Out>, dim3(static_cast<uint32_t>(blocks)), kThreads,
                          stream, params, in, out);
    }
    const dim3 grid(static_cast<uint32_t>(blocks < kMaxBlocks ? blocks : kMaxBlocks));
    return LaunchKernel(MergePairs<In, Out>, grid, kThreads, stream, params, in, out);
  }
};

}  // namespace

cudaError_t LaunchMergePair(cudaStream_t stream, const MergePairArgs& args, bool vectors) {
  return WithMergeTypes<VectorIn>(args.in, args.out, vectors, Launcher{stream, args});
}

}  // namespace kvpage
