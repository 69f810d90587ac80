// SPDX-License-Identifier: Apache-2.0
//
// Softmax of many long rows, as softmax_rows_block.cu keeps them, with the next row on its way: while
// a thread block computes with one row in its registers, exchanges states and stores results, the
// copy engine lands its share of the next in shared memory. Without that the memory is idle whenever
// both thread blocks of a multiprocessor wait for their clusters. sm_90 and later.

#include "cuda/bulk_copy.cuh"
#include "cuda/launch_kernel.cuh"
#include "cuda/softmax_row_exchange.cuh"
#include "cuda/softmax_rows.cuh"

namespace kvpage {
namespace {

template <class In, class Out>
__global__ void __launch_bounds__(kMaxRowThreads, 2)
    StreamRows(const __grid_constant__ RowsParams params, In in, Out out, uint32_t cluster) {
  extern __shared__ __align__(128) char landed[];
  __shared__ RowExchange::Scratch scratch;
  __shared__ uint64_t landing_word;
  const RowShare share(params.cols / In::kWidth, blockIdx.x % cluster, cluster);
  const uint32_t bytes = share.count * static_cast<uint32_t>(sizeof(typename In::Raw));
  const int64_t step = gridDim.x / cluster;
  const char* from = params.x + (blockIdx.x / cluster) * params.x_bytes +
                     share.begin * static_cast<int64_t>(sizeof(typename In::Raw));
  BulkLanding landing(&landing_word);
  __syncthreads();
  if (threadIdx.x == 0) landing.Begin(landed, from, bytes);
  RowExchange exchange(scratch, cluster);
  HeldPart<In> part(threadIdx.x, blockDim.x, share.count);
  for (int64_t row = blockIdx.x / cluster; row < params.rows; row += step) {
    landing.Wait();
    part.LoadShared(landed);
    __syncthreads();  // all have read what landed
    from += step * params.x_bytes;
    if (threadIdx.x == 0 && row + step < params.rows) landing.Begin(landed, from, bytes);
    const SoftmaxState mine = WarpState(part, params.exp2_scale);
    const RowEnd row_end(params, exchange.Merge(mine, params.exp2_scale));
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
    const auto kernel = StreamRows<In, Out>;
    const int64_t raws = params.cols / In::kWidth;
    const size_t bytes = static_cast<size_t>((raws + cluster - 1) / cluster) * sizeof(typename In::Raw);
    cudaError_t error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                             static_cast<int>(bytes));
    if (error == cudaSuccess && cluster > 8) {
      error = cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
    }
    if (error != cudaSuccess) return error;
    // As many as run at a time: one that had to wait for another to end would be a second round.
    ClusterLaunch launch(1, cluster, threads, bytes, stream);
    int running = 0;
    error = cudaOccupancyMaxActiveClusters(&running, kernel, &launch.config);
    if (error != cudaSuccess) return error;
    if (running < 1) return cudaErrorLaunchOutOfResources;
    // Each of them has as many rows as the busiest.
    const int64_t rounds = (params.rows + running - 1) / running;
    const int64_t clusters = (params.rows + rounds - 1) / rounds;
    return LaunchClusters(kernel, static_cast<uint32_t>(clusters), cluster, threads, bytes, stream,
                          params, in, out, cluster);
  }
  // Only whole vectors can be landed.
  template <class E>
  cudaError_t operator()(const RowsParams&, ScalarIn<E>, ScalarOut) const {
    return cudaErrorInvalidValue;
  }
};

}  // namespace

cudaError_t LaunchRowsStream(cudaStream_t stream, const RowsLaunch& rows, uint32_t threads,
                             uint32_t cluster) {
  return WithTypes(rows, Launcher{stream, threads, cluster});
}

}  // namespace kvpage
