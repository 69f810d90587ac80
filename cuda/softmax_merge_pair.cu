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

struct PairParams {
  MergePairArgs args;
  int64_t rows;
  int64_t in_bytes;  // of an element
  int64_t out_bytes;
  uint32_t raws;   // of a row
  uint32_t lanes;  // for a row, a power of two
  bool flat;       // rows lie as if there were one token with all heads
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
  __device__ RowAt(const PairParams& params, int64_t row) : head(row) {
    if (params.flat) return;
    uint32_t remainder;
    DivMod(row, params.args.heads, token, remainder);
    head = remainder;
  }
  __device__ int64_t Element(const StateStrides& s) const { return token * s.token + head * s.head; }
  __device__ int64_t Lse(const StateStrides& s) const {
    return token * s.lse_token + head * s.lse_head;
  }
};

template <class In, class Out>
__global__ void __launch_bounds__(kThreads, 6)
    MergePairs(const __grid_constant__ PairParams params, In in, Out out) {
  const MergePairArgs& args = params.args;
  const bool in_place = args.merged.o == args.a.o && args.merged.lse == args.a.lse;
  // A stride between elements is other than 1 only where a Raw is one element.
  const int64_t a_step = In::kWidth == 1 ? args.a.strides.element : 1;
  const int64_t b_step = In::kWidth == 1 ? args.b.strides.element : 1;
  const int64_t o_step = In::kWidth == 1 ? args.merged.strides.element : 1;
  const uint32_t lane = threadIdx.x & (params.lanes - 1);
  const uint32_t row_of_block = threadIdx.x / params.lanes;
  const int64_t rows_of_block = kThreads / params.lanes;
  // All lanes go round together: those of a row must have read its log-sum-exps before one writes.
  for (int64_t begin = blockIdx.x * rows_of_block; begin < params.rows;
       begin += gridDim.x * rows_of_block) {
    const RowAt at(params, begin + row_of_block);
    const bool exists = begin + row_of_block < params.rows;
    const bool skip = exists && args.skip_tokens != nullptr && args.skip_tokens[at.token] != 0;
    const bool any = exists && !(skip && in_place);
    const char* const a =
        static_cast<const char*>(args.a.o) + at.Element(args.a.strides) * params.in_bytes;
    const char* const b =
        static_cast<const char*>(args.b.o) + at.Element(args.b.strides) * params.in_bytes;
    char* const o =
        static_cast<char*>(args.merged.o) + at.Element(args.merged.strides) * params.out_bytes;
    float a_lse = 0, b_lse = 0;
    if (any) a_lse = args.a.lse[at.Lse(args.a.strides)];
    if (any && !skip) b_lse = args.b.lse[at.Lse(args.b.strides)];
    for (uint32_t raw = lane; any && raw < params.raws; raw += params.lanes) {
      const auto a_raw = in.Load(a, raw * a_step);
      const auto b_raw = skip ? a_raw : in.Load(b, raw * b_step);
      float v[In::kWidth], w[In::kWidth];
      In::Unpack(a_raw, v);
      In::Unpack(b_raw, w);
      PairWeights(args, skip, a_lse, b_lse).Apply(v, w);
      out.Store(o, raw * o_step, v);
    }
    __syncwarp();
    if (!any || lane != 0) continue;
    args.merged.lse[at.Lse(args.merged.strides)] = PairWeights(args, skip, a_lse, b_lse).lse();
  }
}

struct Launcher {
  cudaStream_t stream;
  const MergePairArgs& args;

  static bool Flat(const StateStrides& s, int64_t heads) {
    return s.token == heads * s.head && s.lse_token == heads * s.lse_head;
  }
  template <class In, class Out>
  cudaError_t operator()(In in, Out out) const {
    PairParams params = {args,
                         args.tokens * args.heads,
                         BytesOf(args.in),
                         BytesOf(args.out),
                         static_cast<uint32_t>(args.dim) / In::kWidth,
                         1,
                         false};
    while (params.lanes < 32 && params.lanes < params.raws) params.lanes *= 2;
    params.flat = args.skip_tokens == nullptr && Flat(args.a.strides, args.heads) &&
                  Flat(args.b.strides, args.heads) && Flat(args.merged.strides, args.heads);
    const int64_t rows_per_block = kThreads / params.lanes;
    const int64_t blocks = (params.rows + rows_per_block - 1) / rows_per_block;
    const int64_t most = int64_t{1} << 30;
    return LaunchKernel(MergePairs<In, Out>,
                        dim3(static_cast<uint32_t>(blocks < most ? blocks : most)), kThreads,
                        stream, params, in, out);
  }
};

}  // namespace

cudaError_t LaunchMergePair(cudaStream_t stream, const MergePairArgs& args, bool vectors) {
  return WithMergeTypes<VectorIn>(args.in, args.out, vectors, Launcher{stream, args});
}

}  // namespace kvpage
