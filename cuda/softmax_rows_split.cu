// SPDX-License-Identifier: Apache-2.0
//
// Softmax of rows that no cluster can keep, by all thread blocks together, in two passes. The first
// leaves the states of a few slices of each row. In the second every thread block merges them by
// itself and goes through the tiles in reverse order, so that it begins with what the L2 has seen
// last; and rows go through both passes a few at a time, so that the L2 still has them.

#include "cuda/launch_kernel.cuh"
#include "cuda/softmax_rows.cuh"

namespace kvpage {
namespace {

// Thread blocks of the second pass: as many as an H200 runs at a time, so that all are at about the
// same place of the row.
constexpr int64_t kResultBlocks = 792;

template <class In>
__device__ int64_t TilesOf(const RowsParams& params) {
  return (params.cols / In::kWidth + kTileRaws<In> - 1) / kTileRaws<In>;
}

template <class In>
__global__ void __launch_bounds__(kScanThreads, kBlocksPerMultiprocessor<kScanThreads, 8>)
    SliceStates(const __grid_constant__ RowsParams params, In in, uint32_t slices,
                SoftmaxState* states) {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");  // who waits for the end of this grid
#endif
  __shared__ SoftmaxState scratch[32];
  const uint32_t slice = blockIdx.x % slices;
  const int64_t row = blockIdx.x / slices;
  OnlineState<In> online = {{}, 0, params.exp2_scale, false};
  ScanTiles<Reuse::kAgain>(in, params.x + row * params.x_bytes, params.cols / In::kWidth, slice,
                           slices, TilesOf<In>(params), online);
  const SoftmaxState state = BlockMerged<false>(online.state, params.exp2_scale, scratch);
  if (threadIdx.x == 0) states[blockIdx.x] = state;
}

template <class In, class Out>
__global__ void __launch_bounds__(kScanThreads, kBlocksPerMultiprocessor<kScanThreads, 6>)
    SliceResults(const __grid_constant__ RowsParams params, In in, Out out, uint32_t slices,
                 const SoftmaxState* states) {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
  __shared__ SoftmaxState scratch[32];
  const auto end_of = [&](int64_t row) {
    SoftmaxState state;
    for (uint32_t i = threadIdx.x; i < slices; i += kScanThreads) {
      state = Merged(state, states[row * slices + i], params.exp2_scale);
    }
    __syncthreads();
    return RowEnd(params, BlockMerged<true>(state, params.exp2_scale, scratch));
  };
  const int64_t raws = params.cols / In::kWidth;
  const int64_t tiles = TilesOf<In>(params);
  int64_t row = -1;
  RowEnd row_end(params, {});
  for (int64_t unit = params.rows * tiles - 1 - blockIdx.x; unit >= 0; unit -= gridDim.x) {
    const int64_t tile = unit % tiles;
    if (unit / tiles != row) {
      row = unit / tiles;
      row_end = end_of(row);
    }
    if (params.lse != nullptr && tile == 0 && threadIdx.x == 0) params.lse[row] = row_end.lse();
    if (params.y == nullptr) continue;
    const char* const x = params.x + row * params.x_bytes;
    char* const y = params.y + row * params.y_bytes;
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
  bool overlap;

  template <class In, class Out>
  cudaError_t operator()(const RowsParams& params, In in, Out out) const {
    const uint32_t of_row = static_cast<uint32_t>(slices.slices);
    for (int64_t first = 0; first < params.rows; first += slices.rows_at_once) {
      const int64_t left = params.rows - first;
      const int64_t rows = left < slices.rows_at_once ? left : slices.rows_at_once;
      RowsParams now = params;
      now.rows = rows;
      now.x += first * params.x_bytes;
      if (now.y != nullptr) now.y += first * params.y_bytes;
      if (now.lse != nullptr) now.lse += first;
      const cudaError_t error =
          LaunchKernel(SliceStates<In>, dim3(static_cast<uint32_t>(rows) * of_row), kScanThreads,
                       stream, now, in, of_row, states);
      if (error != cudaSuccess) return error;
      const cudaError_t then = LaunchResults(now, in, out, of_row);
      if (then != cudaSuccess) return then;
    }
    return cudaSuccess;
  }

 private:
  // The second pass may be launched while the first runs; it waits for its end by itself.
  template <class In, class Out>
  cudaError_t LaunchResults(const RowsParams& params, In in, Out out, uint32_t of_row) const {
    const int64_t raws = params.cols / In::kWidth;
    const int64_t units = params.rows * ((raws + kTileRaws<In> - 1) / kTileRaws<In>);
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(static_cast<uint32_t>(units < kResultBlocks ? units : kResultBlocks));
    config.blockDim = dim3(kScanThreads);
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = overlap ? 1 : 0;
    return cudaLaunchKernelEx(&config, SliceResults<In, Out>, params, in, out, of_row,
                              static_cast<const SoftmaxState*>(states));
  }
};

}  // namespace

RowSlices SlicesOf(int64_t rows, int64_t cols, Dtype in, bool vectors) {
  constexpr int64_t kBytesAtOnce = 16 << 20;
  const int64_t tile =
      vectors ? kTileRaws<VectorIn<F32>> * 16 / BytesOf(in) : kTileRaws<ScalarIn<F32>>;
  const int64_t tiles = (cols + tile - 1) / tile;
  RowSlices slices;
  slices.slices = tiles < kMaxRowSlices ? tiles : kMaxRowSlices;
  slices.rows_at_once = kBytesAtOnce / (cols * BytesOf(in));
  if (slices.rows_at_once > rows) slices.rows_at_once = rows;
  if (slices.rows_at_once < 1) slices.rows_at_once = 1;
  return slices;
}

cudaError_t LaunchRowsSplit(cudaStream_t stream, const RowsLaunch& rows, const RowSlices& slices,
                            void* states, bool overlap) {
  return WithTypes(rows, Launcher{stream, slices, static_cast<SoftmaxState*>(states), overlap});
}

}  // namespace kvpage
