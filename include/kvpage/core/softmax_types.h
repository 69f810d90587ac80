// SPDX-License-Identifier: Apache-2.0
//
// kvpage/core/softmax_types.h
//
// The arguments of the softmax operations: denominators, rows and merges of attention states. The
// CPU (kvpage/softmax.h) and the GPU (kvpage/cuda/softmax.h) take the same. Pointers are to memory
// of the one that runs, and stay valid until it has run. Sizes and strides are in elements.
//
// A row's log-sum-exp is fp32. An empty state is lse = -inf and o = 0; it is always written.
// A NaN among the inputs makes the sum NaN, never the maximum: that is of the other elements.

#ifndef KVPAGE_CORE_SOFTMAX_TYPES_H_
#define KVPAGE_CORE_SOFTMAX_TYPES_H_

#include <cstdint>

#include "kvpage/core/macros.h"

namespace kvpage {

// kE4m3 (fp8 of 4 exponent and 3 mantissa bits, no infinities) only as an input of denominators.
enum class Dtype : uint8_t { kF32, kF16, kBf16, kE4m3 };

KVPAGE_HOST_DEVICE constexpr int64_t BytesOf(Dtype dtype) {
  return dtype == Dtype::kF32 ? 4 : (dtype == Dtype::kE4m3 ? 1 : 2);
}

// The logarithm that a log-sum-exp is told in.
enum class LseBase : uint8_t { kE, kTwo };

// What softmax gives for a row of nothing but -inf: NaN, or 0 (log-softmax: -inf).
enum class MaskedRow : uint8_t { kNan, kZero };

// Three ways to merge one sum; the comparison is the lesson (docs/softmax.md).
enum class DenominatorMethod : uint8_t {
  kAtomicPerElement,  // slow, on purpose; reads x twice if it has to find the maximum
  kWarpShuffle,       // lane, warp, thread block, then one atomic per thread block
  kFixedOrder,        // the same bits on every run, for every launch shape and every GPU
};

// max[0] = the largest x, sum[0] = the sum of exp(x - max[0]).
struct DenominatorArgs {
  const void* x = nullptr;  // [n], aligned to its elements
  Dtype dtype = Dtype::kF32;
  int64_t n = 0;
  const float* given_max = nullptr;  // [1]; null: found in the same pass
  float* max = nullptr;              // [1], written
  float* sum = nullptr;              // [1], written; NaN if max is +inf
  DenominatorMethod method = DenominatorMethod::kFixedOrder;
  int32_t max_blocks = 0;  // on a GPU, at most so many thread blocks; 0: as many as help
};

// y = softmax(scale * x) of each row, or its logarithm; y may be x. y and lse may be null.
struct SoftmaxRowsArgs {
  const void* x = nullptr;  // [rows, cols]
  Dtype in = Dtype::kF32;   // kF32, kF16 or kBf16
  int64_t x_stride = 0;     // from one row to the next; 0: cols
  void* y = nullptr;        // [rows, cols]
  Dtype out = Dtype::kF32;
  int64_t y_stride = 0;
  float* lse = nullptr;  // [rows]
  LseBase lse_base = LseBase::kE;
  int64_t rows = 0;
  int64_t cols = 0;
  float scale = 1;  // finite and above 0
  MaskedRow masked_row = MaskedRow::kNan;
};

// lse = log of the sum of exp(scale * x) of each row.
struct LogSumExpRowsArgs {
  const void* x = nullptr;  // [rows, cols]
  Dtype in = Dtype::kF32;
  int64_t x_stride = 0;
  float* lse = nullptr;  // [rows]
  LseBase lse_base = LseBase::kE;
  int64_t rows = 0;
  int64_t cols = 0;
  float scale = 1;
};

// Of o [tokens, heads, dim] and lse [tokens, heads]. All zero: contiguous.
struct StateStrides {
  int64_t token = 0;
  int64_t head = 0;
  int64_t element = 0;
  int64_t lse_token = 0;
  int64_t lse_head = 0;
};

struct ConstStates {
  const void* o = nullptr;
  const float* lse = nullptr;
  StateStrides strides;
};

struct States {
  void* o = nullptr;
  float* lse = nullptr;
  StateStrides strides;
};

// merged = a and b, for each token and head. Merged may be a: in place.
struct MergePairArgs {
  ConstStates a;
  ConstStates b;
  States merged;
  Dtype in = Dtype::kF32;   // of a.o and b.o
  Dtype out = Dtype::kF32;  // of merged.o
  int64_t tokens = 0;
  int32_t heads = 0;
  int32_t dim = 0;
  LseBase lse_base = LseBase::kE;
  bool plus_inf_is_empty = false;        // for producers that mark an empty segment by lse = +inf
  const uint8_t* skip_tokens = nullptr;  // optional [tokens]; not 0: merged is a as it is
};

// merged [tokens, heads, dim] = the k states of each token, in their order.
struct MergeStatesArgs {
  const void* o = nullptr;     // [tokens, k, heads, dim]
  const float* lse = nullptr;  // [tokens, k, heads]
  int32_t k = 0;
  void* merged_o = nullptr;
  float* merged_lse = nullptr;
  Dtype in = Dtype::kF32;
  Dtype out = Dtype::kF32;
  int64_t tokens = 0;
  int32_t heads = 0;
  int32_t dim = 0;
  LseBase lse_base = LseBase::kE;
  bool plus_inf_is_empty = false;
};

// The same for token t's states indptr[t] .. indptr[t + 1] - 1. Id: int32_t or int64_t.
template <class Id>
struct MergeStatesCsrArgs {
  const void* o = nullptr;     // [indptr[tokens], heads, dim]
  const float* lse = nullptr;  // [indptr[tokens], heads]
  const Id* indptr = nullptr;  // [max_tokens + 1], not descending
  const Id* tokens = nullptr;  // if given, the first *tokens are meant: read when it runs
  void* merged_o = nullptr;
  float* merged_lse = nullptr;
  Dtype in = Dtype::kF32;
  Dtype out = Dtype::kF32;
  int64_t max_tokens = 0;
  int32_t heads = 0;
  int32_t dim = 0;
  LseBase lse_base = LseBase::kE;
  bool plus_inf_is_empty = false;
};

}  // namespace kvpage

#endif  // KVPAGE_CORE_SOFTMAX_TYPES_H_
