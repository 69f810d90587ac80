// SPDX-License-Identifier: Apache-2.0
//
// Softmax of many long rows, each kept by the shared memory of a thread block or of a cluster of up
// to 16 (sm_90 and later), three rows on their way at a time: one lands, one is looked through, one
// is written. While the states of a row travel through the cluster, its thread blocks write the row
// before; so a thread block that is late holds nobody up, and the memory is never idle.

#include "cuda/bulk_copy.cuh"
#include "cuda/launch_kernel.cuh"
#include "cuda/softmax_row_exchange.cuh"
#include "cuda/softmax_rows.cuh"

namespace kvpage {
namespace {

constexpr uint32_t kThreads = 1024;
constexpr int kHeld = kStreamBytes / 16 / kThreads;
constexpr uint32_t kStages = 3;

template <class In, class Out>
__global__ void __launch_bounds__(kThreads, 1)
    StreamRows(const __grid_constant__ RowsParams params, In in, Out out, uint32_t cluster,
               uint32_t stage_bytes) {
  extern __shared__ __align__(128) char stages[];
  __shared__ RowExchange::Scratch scratch;
  __shared__ uint64_t landing_words[kStages];
  constexpr int64_t kRawBytes = sizeof(typename In::Raw);
  const RowShare share(params.cols / In::kWidth, blockIdx.x % cluster, cluster);
  const uint32_t bytes = share.count * static_cast<uint32_t>(kRawBytes);
  const int64_t first = blockIdx.x / cluster;
  const int64_t step = gridDim.x / cluster;
  const char* const x = params.x + share.begin * kRawBytes;
  BulkLandings<kStages> landings(landing_words);
  __syncthreads();
  const auto land = [&](int64_t row, uint32_t stage) {
    if (threadIdx.x != 0 || row >= params.rows) return;
    landings.Begin(stage, stages + stage * stage_bytes, x + row * params.x_bytes, bytes);
  };
  land(first, 0);
  land(first + step, 1);

  RowExchange exchange(scratch, cluster);
  HeldPart<In, kHeld> part(threadIdx.x, blockDim.x, share.count);
  RowEnd row_end(params, {});
  uint32_t stage = 0;
  for (int64_t row = first; row - step < params.rows; row += step) {
    const bool any = row < params.rows;
    if (any) {
      landings.Wait(stage);
      part.LoadShared(stages + stage * stage_bytes);
      exchange.Send(WarpState(part, params.exp2_scale));
    }
    const uint32_t before = stage == 0 ? kStages - 1 : stage - 1;
    if (row != first && params.y != nullptr) {
      part.LoadShared(stages + before * stage_bytes);
      part.Store(row_end, out, params.y + (row - step) * params.y_bytes, share.begin);
    }
    if (!any) break;
    exchange.Await();
    __syncthreads();  // all have read the stage before, which the row after the next will have
    land(row + 2 * step, before);
    row_end = RowEnd(params, exchange.Merge(params.exp2_scale));
    if (params.lse != nullptr && share.begin == 0 && threadIdx.x == 0) {
      params.lse[row] = row_end.lse();
    }
    stage = stage == kStages - 1 ? 0 : stage + 1;
  }
}

struct Launcher {
  cudaStream_t stream;
  uint32_t cluster;

  template <class In, class Out>
  cudaError_t operator()(const RowsParams& params, In in, Out out) const {
    const auto kernel = StreamRows<In, Out>;
    const uint32_t raws = static_cast<uint32_t>((params.cols / In::kWidth + cluster - 1) / cluster);
    const uint32_t threads = ((raws + kHeld - 1) / kHeld + 31) / 32 * 32;
    const uint32_t stage_bytes = (raws * 16 + 127) / 128 * 128;
    const size_t bytes = size_t{kStages} * stage_bytes;
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
    const int64_t clusters = params.rows < running ? params.rows : running;
    return LaunchClusters(kernel, static_cast<uint32_t>(clusters), cluster, threads, bytes, stream,
                          params, in, out, cluster, stage_bytes);
  }
  // Only whole vectors can be landed.
  template <class E>
  cudaError_t operator()(const RowsParams&, ScalarIn<E>, ScalarOut) const {
    return cudaErrorInvalidValue;
  }
};

}  // namespace

cudaError_t LaunchRowsStream(cudaStream_t stream, const RowsLaunch& rows, uint32_t cluster) {
  return WithTypes(rows, Launcher{stream, cluster});
}

}  // namespace kvpage
