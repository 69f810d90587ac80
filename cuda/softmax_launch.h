// SPDX-License-Identifier: Apache-2.0
//
// cuda/softmax_launch.h
//
// The door to the softmax kernels, as launch.h is to those of the cache. Arguments have been
// checked; nothing here is empty. Which kernel for which shape is decided in the .cc files.

#ifndef KVPAGE_CUDA_SOFTMAX_LAUNCH_H_
#define KVPAGE_CUDA_SOFTMAX_LAUNCH_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kvpage/core/softmax_types.h"

namespace kvpage {

// --- denominators

// The tree of a sum is made of the parts: their number depends on n alone.
inline constexpr uint32_t kDenominatorParts = 1024;
inline constexpr uint32_t kDenominatorPairs = 32;

// Zeroed once; every kernel leaves it zero. A part or a pair is the bits of a maximum and of a sum,
// which are never all 0.
struct DenominatorWorkspace {
  uint64_t parts[kDenominatorParts];
  uint64_t pairs[kDenominatorPairs];
  float sum;
  uint32_t finished;
};

cudaError_t LaunchDenominator(cudaStream_t stream, const DenominatorArgs& args,
                              DenominatorWorkspace* workspace);
cudaError_t LaunchDenominatorNaive(cudaStream_t stream, const DenominatorArgs& args);

// --- rows

struct RowsLaunch {
  SoftmaxRowsArgs args;  // strides are set
  bool log = false;
  bool vectors = false;  // everything is aligned to 16 bytes, and cols fills vectors
};

// Elements that one thread keeps.
constexpr int64_t HeldElements(Dtype in, bool vectors) {
  return !vectors ? 16 : (in == Dtype::kF32 ? 32 : 64);
}
inline constexpr int64_t kTinyCols = 32;
inline constexpr uint32_t kMaxRowThreads = 512;
inline constexpr uint32_t kMaxRowCluster = 16;

// A thread for each row, through shared memory. cols <= kTinyCols.
cudaError_t LaunchRowsTiny(cudaStream_t stream, const RowsLaunch& rows);
// A part of a warp or a warp for each row. cols <= 32 * HeldElements.
cudaError_t LaunchRowsWarp(cudaStream_t stream, const RowsLaunch& rows);
// A cluster of thread blocks for each row, often of one. cols <= threads * cluster * HeldElements.
cudaError_t LaunchRowsBlock(cudaStream_t stream, const RowsLaunch& rows, uint32_t threads,
                            uint32_t cluster);
// Whether clusters of more than one thread block can run on the current device.
bool RowClustersRun();

// Slices of a row for a thread block each, in two passes, of which the second reads from the L2.
struct RowSlices {
  int64_t slices;        // of a row
  int64_t rows_at_once;  // as many as the L2 holds, at least one
};
inline constexpr int64_t kMaxRowSlices = 1024;
RowSlices SlicesOf(int64_t rows, int64_t cols, Dtype in, bool vectors);
// `states`: 8 bytes for each slice of rows_at_once rows. `overlap`: the second pass may be launched
// before the first has ended; sm_90 and later.
cudaError_t LaunchRowsSplit(cudaStream_t stream, const RowsLaunch& rows, const RowSlices& slices,
                            void* states, bool overlap);

// --- merges

cudaError_t LaunchMergePair(cudaStream_t stream, const MergePairArgs& args, bool vectors);

// Dense (indptr null, k states each) or by indptr.
struct MergeListLaunch {
  MergeStatesArgs args;
  const void* indptr = nullptr;
  const void* tokens = nullptr;
  bool wide_ids = false;  // int64_t
};
enum class MergeListShape {
  kWarp,   // a warp for each row
  kBlock,  // a thread block for each row, where they are few
};
cudaError_t LaunchMergeList(cudaStream_t stream, const MergeListLaunch& merge, bool vectors,
                            MergeListShape shape);

}  // namespace kvpage

#endif  // KVPAGE_CUDA_SOFTMAX_LAUNCH_H_
