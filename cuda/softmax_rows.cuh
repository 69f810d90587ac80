// SPDX-License-Identifier: Apache-2.0
//
// cuda/softmax_rows.cuh
//
// What the row kernels have in common: their parameters, the end of a row, and the choice of an
// input and an output for the types at hand. A launcher has a struct with
//   template <class In, class Out> cudaError_t operator()(const RowsParams&, In, Out) const

#ifndef KVPAGE_CUDA_SOFTMAX_ROWS_CUH_
#define KVPAGE_CUDA_SOFTMAX_ROWS_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "cuda/softmax_elements.cuh"
#include "cuda/softmax_launch.h"
#include "cuda/softmax_state.cuh"

namespace kvpage {

struct RowsParams {
  const char* x;
  char* y;  // null: only the log-sum-exp is wanted
  float* lse;
  int64_t x_bytes;  // from one row to the next
  int64_t y_bytes;
  int64_t rows;
  int64_t cols;
  float scale;
  float exp2_scale;  // scale * log2 e
  float lse_factor;  // 1 or log2 e
  bool log;
  bool masked_is_zero;
};

// How the elements of one row become its results.
class RowEnd {
 public:
  __device__ RowEnd(const RowsParams& params, const SoftmaxState& state)
      : params_(&params), state_(state), anchor_(Anchor(state.max)) {
    // Of a +inf nothing is left but NaN; of nothing but -inf what the caller wants.
    const bool is_masked = state.sum == 0;
    const bool is_zero = is_masked && params.masked_is_zero;
    if (params.log) {
      last_ = is_zero ? 0.0f : logf(state.sum);
    } else {
      last_ = is_masked ? 0.0f : 1.0f / state.sum;
    }
    if (state.max == INFINITY || (is_masked && !is_zero)) last_ = NAN;
  }

  __device__ float lse() const {
    return fmaf(state_.max, params_->scale, logf(state_.sum)) * params_->lse_factor;
  }

  template <int kCount>
  __device__ void Apply(float (&v)[kCount]) const {
    if (params_->log) {
#pragma unroll
      for (int i = 0; i < kCount; ++i) v[i] = fmaf(v[i] - anchor_, params_->scale, -last_);
    } else {
#pragma unroll
      for (int i = 0; i < kCount; ++i) v[i] = Exp2((v[i] - anchor_) * params_->exp2_scale) * last_;
    }
  }

 private:
  const RowsParams* params_;
  SoftmaxState state_;
  float anchor_;
  float last_;  // the logarithm of the sum, or its reciprocal
};

// The Raws of a row that one thread block of a cluster has.
struct RowShare {
  int64_t begin;
  uint32_t count;

  __device__ RowShare(int64_t raws, uint32_t rank, uint32_t blocks) {
    const int64_t each = (raws + blocks - 1) / blocks;
    begin = rank * each;
    const int64_t left = raws - begin;
    count = static_cast<uint32_t>(left < 0 ? 0 : (left < each ? left : each));
  }
};

// What a thread keeps of a row: Raws number first + j * step of those below `end`. Past the end it
// keeps -inf; whole turns past the end are left out, which is why `step` is the same in all
// threads.
template <class In, int kHeld = In::kHeld>
class HeldPart {
 public:
  __device__ HeldPart(uint32_t offset, uint32_t step, uint32_t end)
      : offset_(offset), step_(step), end_(end) {}

  __device__ void Load(const In& in, const char* row, int64_t begin, bool any = true) {
#pragma unroll
    for (int j = 0; j < kHeld; ++j) {
      const uint32_t i = j * step_ + offset_;
      raws_[j] = any && i < end_ ? in.Load(row, begin + i) : In::Empty();
    }
  }
  __device__ float Max() const { return In::Max(raws_); }
  __device__ float Sum(float anchor, float scale) const {
    float sum = 0;
#pragma unroll
    for (int j = 0; j < kHeld; ++j) {
      if (j * step_ >= end_) break;
      float v[In::kWidth];
      In::Unpack(raws_[j], v);
#pragma unroll
      for (int e = 0; e < In::kWidth; ++e) sum += Exp2((v[e] - anchor) * scale);
    }
    return sum;
  }
  template <class Out>
  __device__ void Store(const RowEnd& row_end, const Out& out, char* row, int64_t begin) const {
#pragma unroll
    for (int j = 0; j < kHeld; ++j) {
      const uint32_t i = j * step_ + offset_;
      if (i >= end_) break;
      float v[In::kWidth];
      In::Unpack(raws_[j], v);
      row_end.Apply(v);
      out.Store(row, begin + i, v);
    }
  }

 private:
  uint32_t offset_;
  uint32_t step_;
  uint32_t end_;
  typename In::Raw raws_[kHeld];
};

inline RowsParams ParamsOf(const RowsLaunch& rows) {
  const SoftmaxRowsArgs& a = rows.args;
  return {.x = static_cast<const char*>(a.x),
          .y = static_cast<char*>(a.y),
          .lse = a.lse,
          .x_bytes = a.x_stride * BytesOf(a.in),
          .y_bytes = a.y_stride * BytesOf(a.out),
          .rows = a.rows,
          .cols = a.cols,
          .scale = a.scale,
          .exp2_scale = a.scale * kLog2E,
          .lse_factor = a.lse_base == LseBase::kTwo ? kLog2E : 1.0f,
          .log = rows.log,
          .masked_is_zero = a.masked_row == MaskedRow::kZero};
}

template <class In, class Launcher>
cudaError_t WithOut(const RowsLaunch& rows, const Launcher& launch) {
  constexpr int kWidth = VectorIn<In>::kWidth;
  const RowsParams params = ParamsOf(rows);
  if (!rows.vectors) return launch(params, ScalarIn<In>{}, ScalarOut{rows.args.out});
  switch (rows.args.out) {
    case Dtype::kF32:
      return launch(params, VectorIn<In>{}, VectorOut<F32, kWidth>{});
    case Dtype::kF16:
      return launch(params, VectorIn<In>{}, VectorOut<F16, kWidth>{});
    case Dtype::kBf16:
      return launch(params, VectorIn<In>{}, VectorOut<Bf16, kWidth>{});
    default:
      return cudaErrorInvalidValue;
  }
}

template <class Launcher>
cudaError_t WithTypes(const RowsLaunch& rows, const Launcher& launch) {
  switch (rows.args.in) {
    case Dtype::kF32:
      return WithOut<F32>(rows, launch);
    case Dtype::kF16:
      return WithOut<F16>(rows, launch);
    case Dtype::kBf16:
      return WithOut<Bf16>(rows, launch);
    default:
      return cudaErrorInvalidValue;
  }
}

}  // namespace kvpage

#endif  // KVPAGE_CUDA_SOFTMAX_ROWS_CUH_
