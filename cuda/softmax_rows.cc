// SPDX-License-Identifier: Apache-2.0
//
// Which kernel for which rows: see docs/softmax.md.

#include <algorithm>

#include "cuda/cuda_status.h"
#include "cuda/softmax_launch.h"
#include "kvpage/cuda/softmax.h"
#include "kvpage/softmax.h"

namespace kvpage {
namespace {

constexpr int64_t kStateBytes = 8;
// Thread blocks of kMaxRowThreads that fill a GPU of today.
constexpr int64_t kFullGrid = 264;

bool IsVector(const void* pointer, int64_t bytes_between_rows) {
  return reinterpret_cast<uintptr_t>(pointer) % 16 == 0 && bytes_between_rows % 16 == 0;
}

// Whether rows can be read and written 16 bytes at a time, whole vectors only.
bool IsVector(const SoftmaxRowsArgs& a) {
  return a.cols * BytesOf(a.in) % 16 == 0 && IsVector(a.x, a.x_stride * BytesOf(a.in)) &&
         (a.y == nullptr || IsVector(a.y, a.y_stride * BytesOf(a.out)));
}

// As few thread blocks for a row as can keep it; more if there are too few rows to fill the GPU, as
// long as each has something to do. 0: no cluster can.
uint32_t ClusterFor(const SoftmaxRowsArgs& args, int64_t held, bool clusters_run) {
  const int64_t most = kMaxRowThreads * held;
  uint32_t cluster = 1;
  while (cluster * most < args.cols) cluster *= 2;
  if (cluster > (clusters_run ? kMaxRowCluster : 1)) return 0;
  while (clusters_run && cluster < kMaxRowCluster && args.rows * cluster * 2 <= kFullGrid &&
         args.cols / cluster >= 8192) {
    cluster *= 2;
  }
  return cluster;
}

// Threads that keep as much as they can, or more and less for each where rows are few.
uint32_t ThreadsFor(const SoftmaxRowsArgs& args, int64_t held, uint32_t cluster) {
  const int64_t elements = (args.cols + cluster - 1) / cluster;
  const int64_t each = args.rows * cluster <= kFullGrid ? held / 2 : held;
  const int64_t threads = (elements + each - 1) / each;
  return static_cast<uint32_t>(std::clamp<int64_t>((threads + 31) / 32 * 32, 64, kMaxRowThreads));
}

absl::Status EnqueueLong(StreamRef stream, const RowsLaunch& rows, Workspace workspace) {
  const SoftmaxRowsArgs& args = rows.args;
  const int64_t held = HeldElements(args.in, rows.vectors);
  // A question to the driver, asked only where the answer counts.
  const bool clusters_help = args.cols > kMaxRowThreads * held || args.rows * 2 <= kFullGrid;
  const bool clusters_run = clusters_help && RowClustersRun();
  const uint32_t cluster = ClusterFor(args, held, clusters_run);
  if (cluster > 0) {
    const uint32_t threads = ThreadsFor(args, held, cluster);
    return CudaStatus(LaunchRowsBlock(stream.get(), rows, threads, cluster), "softmax of rows");
  }
  if (workspace.bytes < SoftmaxRowsWorkspaceBytes(args.rows, args.cols, args.in) ||
      workspace.memory == nullptr) {
    return absl::InvalidArgumentError("kvpage: softmax: the workspace is too small");
  }
  const RowSlices slices = SlicesOf(args.rows, args.cols, args.in, rows.vectors);
  return CudaStatus(LaunchRowsSplit(stream.get(), rows, slices, workspace.memory, clusters_run),
                    "softmax of long rows");
}

absl::Status Enqueue(StreamRef stream, SoftmaxRowsArgs args, bool log, Workspace workspace) {
  absl::Status status = Prepare(args);
  if (!status.ok() || args.rows == 0) return status;
  // Rows of no columns have a log-sum-exp all the same.
  if (args.cols == 0 && args.lse == nullptr) return status;
  const RowsLaunch rows = {args, log, args.cols > 0 && IsVector(args)};
  if (args.cols <= kTinyCols && !rows.vectors) {
    return CudaStatus(LaunchRowsTiny(stream.get(), rows), "softmax of tiny rows");
  }
  if (args.cols <= 32 * HeldElements(args.in, rows.vectors)) {
    return CudaStatus(LaunchRowsWarp(stream.get(), rows), "softmax of short rows");
  }
  return EnqueueLong(stream, rows, workspace);
}

}  // namespace

// Whatever the alignment and the device turn out to be.
size_t SoftmaxRowsWorkspaceBytes(int64_t rows, int64_t cols, Dtype in) {
  if (rows <= 0 || cols <= kMaxRowThreads * HeldElements(in, false)) return 0;
  int64_t most = 0;
  for (const bool vectors : {false, true}) {
    const RowSlices slices = SlicesOf(rows, cols, in, vectors);
    most = std::max(most, slices.rows_at_once * slices.slices * kStateBytes);
  }
  return static_cast<size_t>(most);
}

absl::Status SoftmaxRows(StreamRef stream, const SoftmaxRowsArgs& args, Workspace workspace) {
  return Enqueue(stream, args, false, workspace);
}
absl::Status LogSoftmaxRows(StreamRef stream, const SoftmaxRowsArgs& args, Workspace workspace) {
  return Enqueue(stream, args, true, workspace);
}
absl::Status LogSumExpRows(StreamRef stream, const LogSumExpRowsArgs& args, Workspace workspace) {
  return Enqueue(stream, RowsOf(args), false, workspace);
}

}  // namespace kvpage
