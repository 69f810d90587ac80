// SPDX-License-Identifier: Apache-2.0
//
// Softmax of short rows: a part of a warp, or a warp, keeps a row in registers.

#include "cuda/launch_kernel.cuh"
#include "cuda/softmax_rows.cuh"

namespace kvpage {
namespace {

constexpr uint32_t kThreads = 128;

// The less a thread keeps, the more threads run: rows of a few Raws for each lane want as many.
constexpr int kFew = 2;

template <class In, class Out, int kHeld>
__global__ void __launch_bounds__(kThreads,
                                  kBlocksPerMultiprocessor<kThreads, (kHeld <= kFew ? 16 : 8)>)
    WarpRows(const __grid_constant__ RowsParams params, In in, Out out, uint32_t lanes) {
  const uint32_t raws = static_cast<uint32_t>(params.cols) / In::kWidth;
  const uint32_t offset = threadIdx.x % lanes;
  const uint32_t sub_row = threadIdx.x % 32 / lanes;
  const int64_t rows_per_warp = 32 / lanes;
  const int64_t warps = int64_t{gridDim.x} * (kThreads / 32);
  const int64_t warp = int64_t{blockIdx.x} * (kThreads / 32) + threadIdx.x / 32;
  HeldPart<In, kHeld> part(offset, lanes, raws);
  // All lanes go round together, also those without a row: they exchange.
  for (int64_t first = warp * rows_per_warp; first < params.rows; first += warps * rows_per_warp) {
    const int64_t row = first + sub_row;
    const bool any = row < params.rows;
    part.Load(in, params.x + row * params.x_bytes, 0, any);
    SoftmaxState state;
    state.max = LanesMax(part.Max(), lanes);
    state.sum = LanesSum(part.Sum(Anchor(state.max), params.exp2_scale), lanes);
    const RowEnd row_end(params, state);
    if (!any) continue;
    if (params.y != nullptr) part.Store(row_end, out, params.y + row * params.y_bytes, 0);
    if (params.lse != nullptr && offset == 0) params.lse[row] = row_end.lse();
  }
}

struct Launcher {
  cudaStream_t stream;

  template <class In, class Out>
  cudaError_t operator()(const RowsParams& params, In in, Out out) const {
    const int64_t raws = params.cols / In::kWidth;
    // Eight lanes read 128 bytes together; more only if they could not keep the row.
    const auto lanes_for = [&](int held) {
      uint32_t lanes = 1;
      while (lanes < 32 && lanes < raws && (lanes < 8 || lanes * held < raws)) lanes *= 2;
      return lanes;
    };
    const bool few = raws <= 32 * kFew;
    const uint32_t lanes = lanes_for(few ? kFew : In::kHeld);
    const int64_t rows_per_block = kThreads / lanes;
    const int64_t blocks = (params.rows + rows_per_block - 1) / rows_per_block;
    const int64_t most = int64_t{1} << 30;
    const dim3 grid(static_cast<uint32_t>(blocks < most ? blocks : most));
    const auto kernel = few ? WarpRows<In, Out, kFew> : WarpRows<In, Out, In::kHeld>;
    return LaunchKernel(kernel, grid, kThreads, stream, params, in, out, lanes);
  }
};

}  // namespace

cudaError_t LaunchRowsWarp(cudaStream_t stream, const RowsLaunch& rows) {
  return WithTypes(rows, Launcher{stream});
}

}  // namespace kvpage
