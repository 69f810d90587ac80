// SPDX-License-Identifier: Apache-2.0
//
// Softmax of rows of a few elements: a thread for each row. A thread block reads its rows together,
// so that neighbouring threads read neighbouring elements, and turns them round in shared memory,
// where rows lie an odd number of words apart.

#include "cuda/launch_kernel.cuh"
#include "cuda/softmax_rows.cuh"

namespace kvpage {
namespace {

constexpr uint32_t kThreads = 256;

// Quotient and remainder by a small divisor, exact below 2^16.
class Columns {
 public:
  __device__ explicit Columns(uint32_t cols) : cols_(cols), factor_(0xffffffffu / cols + 1) {}
  __device__ uint32_t Row(uint32_t i) const { return cols_ == 1 ? i : __umulhi(i, factor_); }

 private:
  uint32_t cols_;
  uint32_t factor_;
};

__global__ void __launch_bounds__(kThreads)
    TinyRows(const __grid_constant__ RowsParams params, Dtype in, ScalarOut out) {
  __shared__ float tile[kThreads * (kTinyCols + 1)];
  const uint32_t cols = static_cast<uint32_t>(params.cols);
  const uint32_t pitch = cols | 1;
  const Columns columns(cols);
  for (int64_t first = int64_t{blockIdx.x} * kThreads; first < params.rows;
       first += int64_t{gridDim.x} * kThreads) {
    const int64_t left = params.rows - first;
    const uint32_t rows = left < kThreads ? static_cast<uint32_t>(left) : kThreads;
    const char* const x = params.x + first * params.x_bytes;
#pragma unroll 8
    for (uint32_t i = threadIdx.x; i < rows * cols; i += kThreads) {
      const uint32_t row = columns.Row(i);
      const uint32_t col = i - row * cols;
      tile[row * pitch + col] = LoadElement(x + row * params.x_bytes, in, col);
    }
    __syncthreads();
    if (threadIdx.x < rows) {
      float* const row = &tile[threadIdx.x * pitch];
      SoftmaxState state;
      for (uint32_t c = 0; c < cols; ++c) state.max = fmaxf(state.max, row[c]);
      const float anchor = Anchor(state.max);
      for (uint32_t c = 0; c < cols; ++c) state.sum += Exp2((row[c] - anchor) * params.exp2_scale);
      const RowEnd row_end(params, state);
      if (params.lse != nullptr) params.lse[first + threadIdx.x] = row_end.lse();
      for (uint32_t c = 0; c < cols; ++c) {
        float v[1] = {row[c]};
        row_end.Apply(v);
        row[c] = v[0];
      }
    }
    __syncthreads();
    if (params.y != nullptr) {
      char* const y = params.y + first * params.y_bytes;
#pragma unroll 4
      for (uint32_t i = threadIdx.x; i < rows * cols; i += kThreads) {
        const uint32_t row = columns.Row(i);
        const uint32_t col = i - row * cols;
        const float v[1] = {tile[row * pitch + col]};
        out.Store(y + row * params.y_bytes, col, v);
      }
    }
    __syncthreads();
  }
}

}  // namespace

cudaError_t LaunchRowsTiny(cudaStream_t stream, const RowsLaunch& rows) {
  const int64_t blocks = (rows.args.rows + kThreads - 1) / kThreads;
  const int64_t most = int64_t{1} << 30;
  return LaunchKernel(TinyRows, dim3(static_cast<uint32_t>(blocks < most ? blocks : most)), kThreads,
                      stream, ParamsOf(rows), rows.args.in, ScalarOut{rows.args.out});
}

}  // namespace kvpage
