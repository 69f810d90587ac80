// SPDX-License-Identifier: Apache-2.0
//
// cuda/softmax_merge.cuh
//
// What merges of attention states have in common: weights of log-sum-exps, in either base.
//
// A state of weight 0 is skipped, never multiplied: what an empty segment left in its o may be NaN.
// A NaN log-sum-exp has a NaN weight, which is not 0, and so reaches the result.

#ifndef KVPAGE_CUDA_SOFTMAX_MERGE_CUH_
#define KVPAGE_CUDA_SOFTMAX_MERGE_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "cuda/softmax_elements.cuh"
#include "cuda/softmax_state.cuh"
#include "kvpage/core/softmax_types.h"

namespace kvpage {

class MergeUnits {
 public:
  __device__ MergeUnits(LseBase base, bool plus_inf_is_empty)
      : exp2_scale_(base == LseBase::kTwo ? 1.0f : kLog2E),
        log2_factor_(base == LseBase::kTwo ? 1.0f : 0.6931471805599453f),
        plus_inf_is_empty_(plus_inf_is_empty) {}

  // A log-sum-exp as it counts here: empty is -inf.
  __device__ float Read(float lse) const {
    return plus_inf_is_empty_ && lse == INFINITY ? -INFINITY : lse;
  }
  // 1 for the largest, exactly; 0 for an empty state; NaN for NaN, and for the largest if it is
  // +inf.
  __device__ float Weight(float lse, float max) const {
    if (lse == -INFINITY) return 0;
    return Exp2((lse - max) * exp2_scale_);
  }
  // max: of all states, NaN left out; sum: of their weights.
  __device__ float Lse(float max, float sum, bool any_nan) const {
    if (any_nan) return NAN;
    if (fabsf(max) == INFINITY) return max;
    return max + log2f(sum) * log2_factor_;
  }

 private:
  float exp2_scale_;
  float log2_factor_;
  bool plus_inf_is_empty_;
};

// 1 / x for a sum of weights: 1 for 1.
__device__ inline float Reciprocal(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// Quotient and remainder, in 32 bits where they suffice.
__device__ inline void DivMod(int64_t n, uint32_t by, int64_t& quotient, uint32_t& remainder) {
  if (n >> 32 == 0) {
    quotient = static_cast<uint32_t>(n) / by;
  } else {
    quotient = n / by;
  }
  remainder = static_cast<uint32_t>(n - quotient * by);
}

// kWidth elements for each lane of a warp, whatever the type: rows of 128 are a warp wide.
template <class E>
struct QuadIn {
  using Raw = Words<4 / E::kPerWord>;
  static constexpr int kWidth = 4;

  __device__ Raw Load(const char* row, int64_t i) const {
    Raw raw;
    LoadWords(row + i * static_cast<int64_t>(sizeof(Raw)), raw);
    return raw;
  }
  __device__ static void Unpack(const Raw& raw, float (&v)[kWidth]) {
#pragma unroll
    for (int w = 0; w < 4 / E::kPerWord; ++w) E::Unpack(raw.word[w], v + w * E::kPerWord);
  }
};

// Calls launch(in, out) for the types at hand.
template <template <class> class Vector, class In, class Launcher>
cudaError_t WithMergeOut(Dtype out, bool vectors, const Launcher& launch) {
  constexpr int kWidth = Vector<In>::kWidth;
  if (!vectors) return launch(ScalarIn<In>{}, ScalarOut{out});
  switch (out) {
    case Dtype::kF32:
      return launch(Vector<In>{}, VectorOut<F32, kWidth>{});
    case Dtype::kF16:
      return launch(Vector<In>{}, VectorOut<F16, kWidth>{});
    default:
      return launch(Vector<In>{}, VectorOut<Bf16, kWidth>{});
  }
}
template <template <class> class Vector, class Launcher>
cudaError_t WithMergeTypes(Dtype in, Dtype out, bool vectors, const Launcher& launch) {
  switch (in) {
    case Dtype::kF32:
      return WithMergeOut<Vector, F32>(out, vectors, launch);
    case Dtype::kF16:
      return WithMergeOut<Vector, F16>(out, vectors, launch);
    default:
      return WithMergeOut<Vector, Bf16>(out, vectors, launch);
  }
}

}  // namespace kvpage

#endif  // KVPAGE_CUDA_SOFTMAX_MERGE_CUH_
