// SPDX-License-Identifier: Apache-2.0
//
// Softmax of rows that the registers of a thread block can keep, or of a cluster of up to 16 thread
// blocks (sm_90 and later).

#include "cuda/launch_kernel.cuh"
#include "cuda/softmax_row_exchange.cuh"
#include "cuda/softmax_rows.cuh"

namespace kvpage {
namespace {

template <class In, class Out>
__global__ void __launch_bounds__(kMaxRowThreads, 2)
    BlockRows(const __grid_constant__ RowsParams params, In in, Out out, uint32_t cluster) {
  __shared__ RowExchange::Scratch scratch;
  RowExchange exchange(scratch, cluster);
  const RowShare share(params.cols / In::kWidth, blockIdx.x % cluster, cluster);
  HeldPart<In> part(threadIdx.x, blockDim.x, share.count);
  for (int64_t row = blockIdx.x / cluster; row < params.rows; row += gridDim.x / cluster) {
    part.Load(in, params.x + row * params.x_bytes, share.begin);
    exchange.Send(WarpState(part, params.exp2_scale));
    exchange.Await();
    if (cluster == 1) __syncthreads();
    const RowEnd row_end(params, exchange.Merge(params.exp2_scale));
    if (params.y != nullptr) part.Store(row_end, out, params.y + row * params.y_bytes, share.begin);
    if (params.lse != nullptr && share.begin == 0 && threadIdx.x == 0) {
      params.lse[row] = row_end.lse();
    }
  }
  exchange.Finish();
}

struct Launcher {
  cudaStream_t stream;
  uint32_t threads;
  uint32_t cluster;

  template <class In, class Out>
  cudaError_t operator()(const RowsParams& params, In in, Out out) const {
    const int64_t most = (int64_t{1} << 30) / cluster;
    const uint32_t rows = static_cast<uint32_t>(params.rows < most ? params.rows : most);
    const auto kernel = BlockRows<In, Out>;
    if (cluster == 1) {
      return LaunchKernel(kernel, dim3(rows), threads, stream, params, in, out, cluster);
    }
    if (cluster > 8) {
      const cudaError_t error =
          cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
      if (error != cudaSuccess) return error;
    }
    return LaunchClusters(kernel, rows, cluster, threads, 0, stream, params, in, out, cluster);
  }
};

}  // namespace

cudaError_t LaunchRowsBlock(cudaStream_t stream, const RowsLaunch& rows, uint32_t threads,
                            uint32_t cluster) {
  return WithTypes(rows, Launcher{stream, threads, cluster});
}

bool RowClustersRun() {
  cudaFuncAttributes attributes;
  const auto kernel = BlockRows<ScalarIn<F32>, ScalarOut>;
  if (cudaFuncGetAttributes(&attributes, kernel) != cudaSuccess) return false;
  return attributes.ptxVersion >= 90;
}

}  // namespace kvpage
