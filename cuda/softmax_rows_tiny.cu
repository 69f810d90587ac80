// SPDX-License-Identifier: Apache-2.0
//
// Softmax of rows of a few elements that fill no vectors: a thread for each row. A thread block
// reads its rows together, so that neighbouring threads read neighbouring elements, and each thread
// takes its own from shared memory. There the rows lie an odd number of words apart, in different
// banks.

#include "cuda/launch_kernel.cuh"
#include "cuda/softmax_rows.cuh"

namespace kvpage {
namespace {

constexpr uint32_t kThreads = 256;

template <class E>
__global__ void __launch_bounds__(kThreads)
    TinyRows(const __grid_constant__ RowsParams params, ScalarIn<E> in, ScalarOut out) {
  __shared__ float tile[kThreads * (kTinyCols + 1)];
  const uint32_t cols = static_cast<uint32_t>(params.cols);
  const uint32_t pitch = cols | 1;
  // Element number i of the tile is in row i / cols: a product with the upper half of 2^32 / cols,
  // exact for so few. Where nothing lies between rows and their number is odd, it need not be
  // known.
  const uint32_t inverse = cols > 1 ? 0xffffffffu / cols + 1 : 0;
  const auto row_of = [&](uint32_t i) { return cols > 1 ? __umulhi(i, inverse) : i; };
  const int64_t x_gap = params.x_bytes - cols * int64_t{4 / E::kPerWord};
  const int64_t y_gap = params.y_bytes - cols * (out.dtype == Dtype::kF32 ? int64_t{4} : 2);
  for (int64_t first = int64_t{blockIdx.x} * kThreads; first < params.rows;
       first += int64_t{gridDim.x} * kThreads) {
    const int64_t left = params.rows - first;
    const uint32_t rows = left < kThreads ? static_cast<uint32_t>(left) : kThreads;
    const char* const x = params.x + first * params.x_bytes;
#pragma unroll 8
    for (uint32_t i = threadIdx.x; i < rows * cols; i += kThreads) {
      const uint32_t row = x_gap != 0 || pitch != cols ? row_of(i) : 0;
      tile[i + row * (pitch - cols)] = in.Load(x + row * x_gap, i);
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
        const uint32_t row = y_gap != 0 || pitch != cols ? row_of(i) : 0;
        const float v[1] = {tile[i + row * (pitch - cols)]};
        out.Store(y + row * y_gap, i, v);
      }
    }
    __syncthreads();
  }
}

}  // namespace

cudaError_t LaunchRowsTiny(cudaStream_t stream, const RowsLaunch& rows) {
  const int64_t blocks = (rows.args.rows + kThreads - 1) / kThreads;
  const int64_t most = int64_t{1} << 30;
  const dim3 grid(static_cast<uint32_t>(blocks < most ? blocks : most));
  const RowsParams params = ParamsOf(rows);
  const ScalarOut out = {rows.args.out};
  switch (rows.args.in) {
    case Dtype::kF32:
      return LaunchKernel(TinyRows<F32>, grid, kThreads, stream, params, ScalarIn<F32>{}, out);
    case Dtype::kF16:
      return LaunchKernel(TinyRows<F16>, grid, kThreads, stream, params, ScalarIn<F16>{}, out);
    default:
      return LaunchKernel(TinyRows<Bf16>, grid, kThreads, stream, params, ScalarIn<Bf16>{}, out);
  }
}

}  // namespace kvpage
