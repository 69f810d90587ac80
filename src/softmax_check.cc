// SPDX-License-Identifier: Apache-2.0

#include <cmath>

#include "absl/status/status.h"

#include "kvpage/softmax.h"

namespace kvpage {
namespace {

absl::Status Invalid(const char* what) {
  return absl::InvalidArgumentError(std::string("kvpage: softmax: ") + what);
}

bool IsRowType(Dtype dtype) {
  return dtype == Dtype::kF32 || dtype == Dtype::kF16 || dtype == Dtype::kBf16;
}

bool IsAligned(const void* pointer, Dtype dtype) {
  return reinterpret_cast<uintptr_t>(pointer) % BytesOf(dtype) == 0;
}

void SetContiguous(StateStrides& strides, int64_t heads, int64_t dim) {
  if (strides.token == 0 && strides.head == 0 && strides.element == 0) {
    strides.token = heads * dim;
    strides.head = dim;
    strides.element = 1;
  }
  if (strides.lse_token == 0 && strides.lse_head == 0) {
    strides.lse_token = heads;
    strides.lse_head = 1;
  }
}

absl::Status CheckMerge(Dtype in, Dtype out, int64_t tokens, int64_t heads, int64_t dim) {
  if (!IsRowType(in) || !IsRowType(out)) return Invalid("states are f32, f16 or bf16");
  if (tokens < 0 || heads < 0 || dim < 0) return Invalid("a size is negative");
  return absl::OkStatus();
}

}  // namespace

absl::Status Prepare(DenominatorArgs& args) {
  if (args.n < 0) return Invalid("n is negative");
  if (args.max == nullptr || args.sum == nullptr) return Invalid("max and sum must be given");
  if (args.n > 0 && args.x == nullptr) return Invalid("x must be given");
  if (args.dtype > Dtype::kE4m3) return Invalid("an unknown type");
  if (!IsAligned(args.x, args.dtype)) return Invalid("x is not aligned to its elements");
  if (args.method > DenominatorMethod::kFixedOrder) return Invalid("an unknown method");
  if (args.max_blocks < 0) return Invalid("max_blocks is negative");
  return absl::OkStatus();
}

absl::Status Prepare(SoftmaxRowsArgs& args) {
  if (args.rows < 0 || args.cols < 0) return Invalid("a size is negative");
  if (!IsRowType(args.in) || !IsRowType(args.out)) return Invalid("rows are f32, f16 or bf16");
  if (args.x_stride == 0) args.x_stride = args.cols;
  if (args.y_stride == 0) args.y_stride = args.cols;
  if (args.rows > 1 && (args.x_stride < args.cols || args.y_stride < args.cols)) {
    return Invalid("rows overlap");
  }
  if (!std::isfinite(args.scale) || args.scale <= 0) return Invalid("scale is finite and above 0");
  if (args.rows > 0 && args.cols > 0 && args.x == nullptr) return Invalid("x must be given");
  if (!IsAligned(args.x, args.in) || !IsAligned(args.y, args.out)) {
    return Invalid("x and y are aligned to their elements");
  }
  return absl::OkStatus();
}

absl::Status Prepare(MergePairArgs& args) {
  absl::Status status = CheckMerge(args.in, args.out, args.tokens, args.heads, args.dim);
  if (!status.ok()) return status;
  if (args.tokens == 0 || args.heads == 0) return absl::OkStatus();
  if (args.a.lse == nullptr || args.b.lse == nullptr || args.merged.lse == nullptr ||
      (args.dim > 0 && (args.a.o == nullptr || args.b.o == nullptr || args.merged.o == nullptr))) {
    return Invalid("both states and the merged one must be given");
  }
  if (!IsAligned(args.a.o, args.in) || !IsAligned(args.b.o, args.in) ||
      !IsAligned(args.merged.o, args.out)) {
    return Invalid("states are aligned to their elements");
  }
  for (StateStrides* strides : {&args.a.strides, &args.b.strides, &args.merged.strides}) {
    SetContiguous(*strides, args.heads, args.dim);
  }
  return absl::OkStatus();
}

absl::Status Prepare(MergeStatesArgs& args) {
  absl::Status status = CheckMerge(args.in, args.out, args.tokens, args.heads, args.dim);
  if (!status.ok()) return status;
  if (args.k < 0) return Invalid("k is negative");
  if (args.tokens == 0 || args.heads == 0) return absl::OkStatus();
  if (args.k > 0 && (args.lse == nullptr || (args.dim > 0 && args.o == nullptr))) {
    return Invalid("states must be given");
  }
  if (args.dim > 0 && args.merged_o == nullptr) return Invalid("merged_o must be given");
  if (!IsAligned(args.o, args.in) || !IsAligned(args.merged_o, args.out)) {
    return Invalid("states are aligned to their elements");
  }
  return absl::OkStatus();
}

SoftmaxRowsArgs RowsOf(const LogSumExpRowsArgs& args) {
  return {.x = args.x,
          .in = args.in,
          .x_stride = args.x_stride,
          .out = args.in,
          .lse = args.lse,
          .lse_base = args.lse_base,
          .rows = args.rows,
          .cols = args.cols,
          .scale = args.scale};
}

}  // namespace kvpage
