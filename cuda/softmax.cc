// SPDX-License-Identifier: Apache-2.0
//
// Denominators and merges on a stream.

#include "kvpage/cuda/softmax.h"

#include <limits>

#include "cuda/cuda_status.h"
#include "cuda/softmax_launch.h"
#include "kvpage/softmax.h"

namespace kvpage {
namespace {

// Below so many rows a warp for each leaves a GPU of today half empty.
constexpr int64_t kBlockRows = 132 * 4;

bool IsAligned(const void* pointer, int64_t bytes) {
  return reinterpret_cast<uintptr_t>(pointer) % static_cast<uintptr_t>(bytes) == 0;
}

// Whether every row begins at a multiple of `width` elements and has whole ones.
bool IsVector(const void* o, const StateStrides& s, Dtype dtype, int64_t width) {
  return IsAligned(o, width * BytesOf(dtype) < 16 ? width * BytesOf(dtype) : 16) &&
         s.element == 1 && s.token % width == 0 && s.head % width == 0;
}

absl::Status EnqueueList(StreamRef stream, const MergeListLaunch& merge) {
  const MergeStatesArgs& args = merge.args;
  if (args.tokens == 0 || args.heads == 0) return absl::OkStatus();
  constexpr int64_t kWidth = 4;
  const bool vectors = args.dim % kWidth == 0 && IsAligned(args.o, kWidth * BytesOf(args.in)) &&
                       IsAligned(args.merged_o, kWidth * BytesOf(args.out));
  const int64_t rows = args.tokens * args.heads;
  const auto shape = rows <= kBlockRows ? MergeListShape::kBlock : MergeListShape::kWarp;
  return CudaStatus(LaunchMergeList(stream.get(), merge, vectors, shape), "merge states");
}

template <class Id>
absl::Status MergeCsr(StreamRef stream, const MergeStatesCsrArgs<Id>& csr) {
  MergeListLaunch merge = {DenseOf(csr), csr.indptr, csr.tokens, sizeof(Id) == 8};
  absl::Status status = Prepare(merge.args);
  if (!status.ok()) return status;
  if (csr.max_tokens > 0 && csr.indptr == nullptr) {
    return absl::InvalidArgumentError("kvpage: softmax: indptr must be given");
  }
  return EnqueueList(stream, merge);
}

}  // namespace

size_t DenominatorWorkspaceBytes() { return sizeof(DenominatorWorkspace); }

absl::Status Denominator(StreamRef stream, const DenominatorArgs& given, Workspace workspace) {
  DenominatorArgs args = given;
  absl::Status status = Prepare(args);
  if (!status.ok()) return status;
  if (args.method == DenominatorMethod::kAtomicPerElement) {
    return CudaStatus(LaunchDenominatorNaive(stream.get(), args), "denominator by atomics");
  }
  if (workspace.memory == nullptr || workspace.bytes < sizeof(DenominatorWorkspace)) {
    return absl::InvalidArgumentError("kvpage: softmax: the workspace is too small");
  }
  return CudaStatus(
      LaunchDenominator(stream.get(), args, static_cast<DenominatorWorkspace*>(workspace.memory)),
      "denominator");
}

absl::Status MergePair(StreamRef stream, const MergePairArgs& given) {
  MergePairArgs args = given;
  absl::Status status = Prepare(args);
  if (!status.ok() || args.tokens == 0 || args.heads == 0) return status;
  const int64_t width = 16 / BytesOf(args.in);
  const bool vectors = args.dim % width == 0 &&
                       IsVector(args.a.o, args.a.strides, args.in, width) &&
                       IsVector(args.b.o, args.b.strides, args.in, width) &&
                       IsVector(args.merged.o, args.merged.strides, args.out, width);
  return CudaStatus(LaunchMergePair(stream.get(), args, vectors), "merge a pair");
}

absl::Status MergeStates(StreamRef stream, const MergeStatesArgs& given) {
  MergeListLaunch merge = {given};
  absl::Status status = Prepare(merge.args);
  if (!status.ok()) return status;
  return EnqueueList(stream, merge);
}

absl::Status MergeStates(StreamRef stream, const MergeStatesCsrArgs<int32_t>& args) {
  return MergeCsr(stream, args);
}
absl::Status MergeStates(StreamRef stream, const MergeStatesCsrArgs<int64_t>& args) {
  return MergeCsr(stream, args);
}

}  // namespace kvpage
