// SPDX-License-Identifier: Apache-2.0
//
// kvpage/cuda/softmax.h
//
// Softmax reductions and merges of attention states on a GPU. Arguments:
// kvpage/core/softmax_types.h; what comes out for NaN and infinity: kvpage/softmax.h, whose
// functions of the same names are the CPU's.
//
// Example:
//   const size_t bytes = kvpage::SoftmaxRowsWorkspaceBytes(rows, cols, args.in);
//   kvpage::SoftmaxRows(kvpage::StreamRef(stream), args, {workspace, bytes});
//
// Streams: every call enqueues kernels on the stream and returns; it neither synchronises nor
//   allocates, and can be captured in a graph. Results are valid on the stream.
// Thread safety: calls may be made from any thread. Calls that run at the same time need arrays and
//   workspaces of their own.
// Memory ordering: that of the stream.
// Cost: each element is read once from memory. docs/softmax.md has kernels and figures.
// Failure: InvalidArgument as on the CPU, or for a workspace that is too small; Unavailable without
//   a device, Internal for a launch that CUDA refuses. sm_75 and later; rows of more than 16384
//   floats (32768 of 16 bits) are kept in registers on sm_90 and later, and read twice before.

#ifndef KVPAGE_CUDA_SOFTMAX_H_
#define KVPAGE_CUDA_SOFTMAX_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"

#include "kvpage/core/softmax_types.h"
#include "kvpage/export.h"
#include "kvpage/stream_ref.h"

namespace kvpage {

// Device memory, aligned to 8 bytes.
struct Workspace {
  void* memory = nullptr;
  size_t bytes = 0;
};

// The workspace must be zero at its first use; every call leaves it zero. Calls with other
// arguments may share it, one after another.
KVPAGE_EXPORT size_t DenominatorWorkspaceBytes();
KVPAGE_EXPORT absl::Status Denominator(StreamRef stream, const DenominatorArgs& args,
                                       Workspace workspace);

// Needs no device. The workspace's contents do not matter.
KVPAGE_EXPORT size_t SoftmaxRowsWorkspaceBytes(int64_t rows, int64_t cols, Dtype in);
KVPAGE_EXPORT absl::Status SoftmaxRows(StreamRef stream, const SoftmaxRowsArgs& args,
                                       Workspace workspace);
KVPAGE_EXPORT absl::Status LogSoftmaxRows(StreamRef stream, const SoftmaxRowsArgs& args,
                                          Workspace workspace);
KVPAGE_EXPORT absl::Status LogSumExpRows(StreamRef stream, const LogSumExpRowsArgs& args,
                                         Workspace workspace);

// Rows are the same bits alone and in any batch.
KVPAGE_EXPORT absl::Status MergePair(StreamRef stream, const MergePairArgs& args);
KVPAGE_EXPORT absl::Status MergeStates(StreamRef stream, const MergeStatesArgs& args);
KVPAGE_EXPORT absl::Status MergeStates(StreamRef stream, const MergeStatesCsrArgs<int32_t>& args);
KVPAGE_EXPORT absl::Status MergeStates(StreamRef stream, const MergeStatesCsrArgs<int64_t>& args);

}  // namespace kvpage

#endif  // KVPAGE_CUDA_SOFTMAX_H_
