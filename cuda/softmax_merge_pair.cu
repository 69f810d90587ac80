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
constexpr int kRows = 2;  // of a thread at a time

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
__global__ void __launch_bounds__(kThreads, 4)
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
  const int64_t thread = int64_t{blockIdx.x} * kThreads * kRows + threadIdx.x;
  const int64_t step = kThreads / params.lanes;  // between the rows of a thread
  for (int64_t first = thread / params.lanes; __any_sync(~0u, first < params.rows);
       first += int64_t{gridDim.x} * kRows * step) {
    // All is asked for before anything is computed: kRows rows are on their way at a time.
    RowAt at[kRows];
    bool any[kRows], skip[kRows];
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const int64_t row = first + r * step;
      at[r] = RowAt(params, row);
      any[r] = row < params.rows;
      skip[r] = any[r] && args.skip_tokens != nullptr && args.skip_tokens[at[r].token] != 0;
      any[r] = any[r] && !(skip[r] && in_place);
    }
    float a_lse[kRows] = {}, b_lse[kRows] = {}, lse[kRows];
    for (uint32_t raw = lane; raw == lane || raw < params.raws; raw += params.lanes) {
      typename In::Raw a_raw[kRows], b_raw[kRows];
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        if (!any[r]) continue;
        if (raw == lane) {
          a_lse[r] = args.a.lse[at[r].Lse(args.a.strides)];
          if (!skip[r]) b_lse[r] = args.b.lse[at[r].Lse(args.b.strides)];
        }
        if (raw >= params.raws) continue;
        a_raw[r] = in.Load(static_cast<const char*>(args.a.o) + at[r].Element(args.a.strides) * in_bytes,
                           raw * a_step);
        if (skip[r]) {
          b_raw[r] = a_raw[r];
          continue;
        }
        b_raw[r] = in.Load(static_cast<const char*>(args.b.o) + at[r].Element(args.b.strides) * in_bytes,
                           raw * b_step);
      }
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        if (!any[r]) continue;
        const PairWeights weights(args, skip[r], a_lse[r], b_lse[r]);
        lse[r] = weights.lse;
        if (raw >= params.raws) continue;
        float v[In::kWidth], w[In::kWidth];
        In::Unpack(a_raw[r], v);
        In::Unpack(b_raw[r], w);
#pragma unroll
        for (int e = 0; e < In::kWidth; ++e) v[e] = WeightedSum(weights.a, v[e], weights.b, w[e]);
        out.Store(
            static_cast<char*>(args.merged.o) + at[r].Element(args.merged.strides) * out_bytes,
            raw * o_step, v);
      }
    }
    __syncwarp();  // all lanes of the rows have read
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      if (!any[r] || lane != 0) continue;
      args.merged.lse[at[r].Lse(args.merged.strides)] = lse[r];
    }
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
    const int64_t rows_per_block = kThreads / params.lanes * kRows;
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
