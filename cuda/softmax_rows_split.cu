// SPDX-License-Identifier: Apache-2.0
//
// Softmax of rows that no cluster can keep: slices of a row for a thread block each. The first pass
// leaves each slice's state; in the second every thread block merges the states of its row by
// itself. It takes the slices in reverse order, so that it begins with what the L2 has seen last,
// and rows go through both passes a few at a time, so that the L2 still has them.

#include "cuda/launch_kernel.cuh"
#include "cuda/softmax_rows.cuh"

namespace kvpage {
namespace {

template <class In>
__global__ void __launch_bounds__(kScanThreads, 8)
    SliceStates(const __grid_constant__ RowsParams params, In in, uint32_t slices,
                int64_t tiles_per_slice, SoftmaxState* states) {
  __shared__ SoftmaxState scratch[32];
  const uint32_t slice = blockIdx.x % slices;
  const int64_t row = blockIdx.x / slices;
  const int64_t raws = params.cols / In::kWidth;
  const int64_t tiles = (raws + kTileRaws<In> - 1) / kTileRaws<In>;
  const int64_t first = slice * tiles_per_slice;
  const int64_t end = first + tiles_per_slice;
  OnlineState<In> online = {{}, 0, params.exp2_scale, false};
  ScanTiles<Reuse::kAgain>(in, params.x + row * params.x_bytes, raws, first, 1,
                           end < tiles ? end : tiles, online);
  const SoftmaxState state = BlockMerged<false>(online.state, params.exp2_scale, scratch);
  if (threadIdx.x == 0) states[blockIdx.x] = state;
}

template <class In, class Out>
__global__ void __launch_bounds__(kScanThreads, 4)
    SliceResults(const __grid_constant__ RowsParams params, In in, Out out, uint32_t slices,
                 int64_t tiles_per_slice, const SoftmaxState* states) {
  __shared__ SoftmaxState scratch[32];
  const uint32_t block = gridDim.x - 1 - blockIdx.x;
  const uint32_t slice = block % slices;
  const int64_t row = block / slices;
  SoftmaxState state;
  for (uint32_t i = threadIdx.x; i < slices; i += kScanThreads) {
    state = Merged(state, states[row * slices + i], params.exp2_scale);
  }
  const RowEnd row_end(params, BlockMerged<true>(state, params.exp2_scale, scratch));
  if (params.lse != nullptr && slice == 0 && threadIdx.x == 0) params.lse[row] = row_end.lse();
  if (params.y == nullptr) return;

  const int64_t raws = params.cols / In::kWidth;
  const char* const x = params.x + row * params.x_bytes;
  char* const y = params.y + row * params.y_bytes;
  for (int64_t tile = (slice + 1) * tiles_per_slice - 1; tile >= slice * tiles_per_slice; --tile) {
    const int64_t begin = tile * kTileRaws<In> + threadIdx.x;
    typename In::Raw batch[In::kBatch];
#pragma unroll
    for (int b = 0; b < In::kBatch; ++b) {
      const int64_t i = begin + b * int64_t{kScanThreads};
      batch[b] = i < raws ? in.Load(x, i) : In::Empty();
    }
#pragma unroll
    for (int b = 0; b < In::kBatch; ++b) {
      const int64_t i = begin + b * int64_t{kScanThreads};
      if (i >= raws) break;
      float v[In::kWidth];
      In::Unpack(batch[b], v);
      row_end.Apply(v);
      out.Store(y, i, v);
    }
  }
}

struct Launcher {
  cudaStream_t stream;
  RowSlices slices;
  SoftmaxState* states;

  template <class In, class Out>
  cudaError_t operator()(const RowsParams& params, In in, Out out) const {
    const uint32_t of_row = static_cast<uint32_t>(slices.slices);
    for (int64_t first = 0; first < params.rows; first += slices.rows_at_once) {
      const int64_t left = params.rows - first;
      const int64_t rows = left < slices.rows_at_once ? left : slices.rows_at_once;
      RowsParams now = params;
      now.x += first * params.x_bytes;
      if (now.y != nullptr) now.y += first * params.y_bytes;
      if (now.lse != nullptr) now.lse += first;
      const dim3 grid(static_cast<uint32_t>(rows) * of_row);
      cudaError_t error = LaunchKernel(SliceStates<In>, grid, kScanThreads, stream, now, in, of_row,
                                       slices.tiles_per_slice, states);
      if (error != cudaSuccess) return error;
      error = LaunchKernel(SliceResults<In, Out>, grid, kScanThreads, stream, now, in, out, of_row,
                           slices.tiles_per_slice, static_cast<const SoftmaxState*>(states));
      if (error != cudaSuccess) return error;
    }
    return cudaSuccess;
  }
};

}  // namespace

RowSlices SlicesOf(int64_t rows, int64_t cols, Dtype in, bool vectors) {
  constexpr int64_t kBytesAtOnce = 16 << 20;
  const int64_t tile = vectors ? kTileRaws<VectorIn<F32>> * 16 / BytesOf(in) : kTileRaws<ScalarIn<F32>>;
  const int64_t tiles = (cols + tile - 1) / tile;
  RowSlices slices;
  slices.tiles_per_slice = (tiles + kMaxRowSlices - 1) / kMaxRowSlices;
  slices.slices = (tiles + slices.tiles_per_slice - 1) / slices.tiles_per_slice;
  slices.rows_at_once = kBytesAtOnce / (cols * BytesOf(in));
  if (slices.rows_at_once > rows) slices.rows_at_once = rows;
  if (slices.rows_at_once < 1) slices.rows_at_once = 1;
  return slices;
}

cudaError_t LaunchRowsSplit(cudaStream_t stream, const RowsLaunch& rows, const RowSlices& slices,
                            void* states) {
  return WithTypes(rows, Launcher{stream, slices, static_cast<SoftmaxState*>(states)});
}

}  // namespace kvpage
