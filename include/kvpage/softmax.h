// SPDX-License-Identifier: Apache-2.0
//
// kvpage/softmax.h
//
// Softmax reductions and merges of attention states on the CPU: plain loops, fp64 inside, one
// rounding at the end. They need no GPU, and they are what the kernels (kvpage/cuda/softmax.h) are
// tested against. The arguments, the same for both, are in kvpage/core/softmax_types.h.
//
// Example:
//   std::vector<float> x = Logits(), y(x.size());
//   kvpage::SoftmaxRows({.x = x.data(), .y = y.data(), .rows = 4, .cols = 32000});
//
// NaN and infinity, for each row:
//   nothing but -inf   lse -inf; softmax as MaskedRow says (log-softmax NaN, or -inf for kZero)
//   a NaN              everything NaN
//   a +inf             softmax and log-softmax NaN; lse +inf
//   no columns         lse -inf, nothing written to y
// and for merged states:
//   empty states       do not count, whatever their o; none but empty ones: o 0, lse -inf
//   a NaN lse          o and lse NaN
//   a +inf lse         o NaN, lse +inf; with plus_inf_is_empty it is empty
//   a state alone      itself, exactly
//
// Thread safety: calls that write different arrays may run at the same time. Memory ordering: none.
// Cost: one exponential or two per element, for rows of any length; nothing is allocated.
// Failure: InvalidArgument for sizes, strides or types that mean nothing, or pointers that are
//   missing; nothing has been written then.

#ifndef KVPAGE_SOFTMAX_H_
#define KVPAGE_SOFTMAX_H_

#include <cstdint>

#include "absl/status/status.h"

#include "kvpage/core/softmax_types.h"
#include "kvpage/export.h"

namespace kvpage {

KVPAGE_EXPORT absl::Status Denominator(const DenominatorArgs& args);

KVPAGE_EXPORT absl::Status SoftmaxRows(const SoftmaxRowsArgs& args);
KVPAGE_EXPORT absl::Status LogSoftmaxRows(const SoftmaxRowsArgs& args);
KVPAGE_EXPORT absl::Status LogSumExpRows(const LogSumExpRowsArgs& args);

KVPAGE_EXPORT absl::Status MergePair(const MergePairArgs& args);
KVPAGE_EXPORT absl::Status MergeStates(const MergeStatesArgs& args);
KVPAGE_EXPORT absl::Status MergeStates(const MergeStatesCsrArgs<int32_t>& args);
KVPAGE_EXPORT absl::Status MergeStates(const MergeStatesCsrArgs<int64_t>& args);

// What every backend checks first. Strides of 0 become those of contiguous arrays.
KVPAGE_EXPORT absl::Status Prepare(DenominatorArgs& args);
KVPAGE_EXPORT absl::Status Prepare(SoftmaxRowsArgs& args);
KVPAGE_EXPORT absl::Status Prepare(MergePairArgs& args);
KVPAGE_EXPORT absl::Status Prepare(MergeStatesArgs& args);
// A log-sum-exp is a softmax whose y is not wanted.
KVPAGE_EXPORT SoftmaxRowsArgs RowsOf(const LogSumExpRowsArgs& args);
// What both forms of a merge have. k is 0: states are needed only if indptr has any.
template <class Id>
MergeStatesArgs DenseOf(const MergeStatesCsrArgs<Id>& args) {
  return {.o = args.o,
          .lse = args.lse,
          .k = 0,
          .merged_o = args.merged_o,
          .merged_lse = args.merged_lse,
          .in = args.in,
          .out = args.out,
          .tokens = args.max_tokens,
          .heads = args.heads,
          .dim = args.dim,
          .lse_base = args.lse_base,
          .plus_inf_is_empty = args.plus_inf_is_empty};
}

}  // namespace kvpage

#endif  // KVPAGE_SOFTMAX_H_
