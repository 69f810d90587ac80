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
  uint32_t raws;   // of a row
  uint32_t lanes;  // for a row, a power of two
  bool flat;       // rows lie as if there were one token with all heads
};

// The parts of a and b in a row, and its log-sum-exp.
struct PairWeights {
  float a = 1;
  float b = 0;
  float lse;

  __device__ PairWeights(const MergePairArgs& args, bool skip, float a_lse, float b_lse)
      : lse(a_lse) {
    if (skip) return;
    const MergeUnits units(args.lse_base, args.plus_inf_is_empty);
    a_lse = units.Read(a_lse);
    b_lse = units.Read(b_lse);
    const float max = fmaxf(a_lse, b_lse);
    const float a_weight = units.Weight(a_lse, max);
    const float b_weight = units.Weight(b_lse, max);
    const float sum = a_weight + b_weight;
    const float factor = 1.0f / sum;
    a = a_weight == 0 ? 0.0f : a_weight * factor;
    b = b_weight == 0 ? 0.0f : b_weight * factor;
    lse = units.Lse(max, sum, isnan(a_lse) || isnan(b_lse));
  }
};

template <class In, class Out>
__global__ void __launch_bounds__(kThreads)
    MergePairs(const __grid_constant__ PairParams params, In in, Out out) {
  const MergePairArgs& args = params.args;
  const bool in_place = args.merged.o == args.a.o && args.merged.lse == args.a.lse;
  // A stride between elements is other than 1 only where a Raw is one element.
  const int64_t a_step = In::kWidth == 1 ? args.a.strides.element : 1;
  const int64_t b_step = In::kWidth == 1 ? args.b.strides.element : 1;
  const int64_t o_step = In::kWidth == 1 ? args.merged.strides.element : 1;
  const int64_t in_bytes = BytesOf(args.in);
  const int64_t out_bytes = BytesOf(args.out);
  const uint32_t lane = threadIdx.x % params.lanes;
  const int64_t thread = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  const int64_t step = int64_t{gridDim.x} * kThreads / params.lanes;
  for (int64_t row = thread / params.lanes; __any_sync(~0u, row < params.rows); row += step) {
    int64_t token = 0;
    uint32_t head = 0;
    if (!params.flat) DivMod(row, args.heads, token, head);
    const int64_t flat_head = params.flat ? row : head;
    const auto element = [&](const StateStrides& s) { return token * s.token + flat_head * s.head; };
    const auto lse_at = [&](const StateStrides& s) {
      return token * s.lse_token + flat_head * s.lse_head;
    };
    bool any = row < params.rows;
    const bool skip = any && args.skip_tokens != nullptr && args.skip_tokens[token] != 0;
    any = any && !(skip && in_place);
    float lse = 0;
    if (any) {
      const char* const a = static_cast<const char*>(args.a.o) + element(args.a.strides) * in_bytes;
      const char* const b = static_cast<const char*>(args.b.o) + element(args.b.strides) * in_bytes;
      char* const o =
          static_cast<char*>(args.merged.o) + element(args.merged.strides) * out_bytes;
      const float a_lse = args.a.lse[lse_at(args.a.strides)];
      const float b_lse = skip ? 0.0f : args.b.lse[lse_at(args.b.strides)];
      if (params.raws == 0) lse = PairWeights(args, skip, a_lse, b_lse).lse;
      for (uint32_t raw = lane; raw < params.raws; raw += params.lanes) {
        const auto a_raw = in.Load(a, raw * a_step);
        const auto b_raw = in.Load(skip ? a : b, raw * (skip ? a_step : b_step));
        const PairWeights weights(args, skip, a_lse, b_lse);
        lse = weights.lse;
        float v[In::kWidth];
        float w[In::kWidth];
        In::Unpack(a_raw, v);
        In::Unpack(b_raw, w);
#pragma unroll
        for (int e = 0; e < In::kWidth; ++e) v[e] = WeightedSum(weights.a, v[e], weights.b, w[e]);
        out.Store(o, raw * o_step, v);
      }
    }
    __syncwarp();  // all lanes of the row have read
    if (any && lane == 0) args.merged.lse[lse_at(args.merged.strides)] = lse;
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
    PairParams params = {args, args.tokens * args.heads,
                         static_cast<uint32_t>(args.dim) / In::kWidth, 1, false};
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
