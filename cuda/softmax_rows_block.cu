// SPDX-License-Identifier: Apache-2.0
//
// Softmax of rows that the registers of a thread block can keep, or of a cluster of up to 16 thread
// blocks (sm_90 and later). The states of all warps of all blocks meet in the shared memory of each
// block, behind one barrier; every warp then merges them by itself.

#include "cuda/cluster_barrier.cuh"
#include "cuda/launch_kernel.cuh"
#include "cuda/softmax_rows.cuh"

namespace kvpage {
namespace {

constexpr uint32_t kMaxWarps = kMaxRowThreads / 32;

template <class In, class Out>
__global__ void __launch_bounds__(kMaxRowThreads, 2)
    BlockRows(const __grid_constant__ RowsParams params, In in, Out out, uint32_t cluster) {
  // In turn, so that a warp that is a row ahead disturbs nobody.
  __shared__ SoftmaxState states[2][kMaxWarps * kMaxRowCluster];
  const uint32_t warps = blockDim.x / 32;
  const uint32_t warp = threadIdx.x / 32;
  const uint32_t lane = threadIdx.x % 32;
  const uint32_t rank = blockIdx.x % cluster;
  const int64_t raws = params.cols / In::kWidth;
  const int64_t per_block = (raws + cluster - 1) / cluster;
  const int64_t begin = rank * per_block;
  const int64_t count = raws - begin < per_block ? raws - begin : per_block;
  HeldPart<In> part(threadIdx.x, blockDim.x, count > 0 ? static_cast<uint32_t>(count) : 0);
  // Nobody writes into a thread block that may not have started.
  if (cluster > 1) ClusterArrive();
  bool started = cluster == 1;

  uint32_t turn = 0;
  for (int64_t row = blockIdx.x / cluster; row < params.rows; row += gridDim.x / cluster) {
    part.Load(in, params.x + row * params.x_bytes, begin);
    SoftmaxState state;
    state.max = LanesMax(part.Max());
    state.sum = LanesSum(part.Sum(Anchor(state.max), params.exp2_scale));
    if (cluster == 1) {
      if (lane == 0) states[turn][warp] = state;
      __syncthreads();
    } else {
      if (!started) ClusterWait();
      started = true;
      if (lane < cluster) StoreToBlock(&states[turn][rank * warps + warp], lane, state);
      ClusterArrive();
      ClusterWait();
    }
    state = SoftmaxState{};
    for (uint32_t i = lane; i < warps * cluster; i += 32) {
      state = Merged(state, states[turn][i], params.exp2_scale);
    }
    turn ^= 1;
    const RowEnd row_end(params, LanesMerged(state, params.exp2_scale));
    if (params.y != nullptr) part.Store(row_end, out, params.y + row * params.y_bytes, begin);
    if (params.lse != nullptr && rank == 0 && threadIdx.x == 0) params.lse[row] = row_end.lse();
  }
  if (!started) ClusterWait();
}

struct Launcher {
  cudaStream_t stream;
  uint32_t threads;
  uint32_t cluster;

  template <class In, class Out>
  cudaError_t operator()(const RowsParams& params, In in, Out out) const {
    const int64_t most = int64_t{1} << 30;
    const uint32_t rows = static_cast<uint32_t>(params.rows < most / cluster ? params.rows
                                                                            : most / cluster);
    const auto kernel = BlockRows<In, Out>;
    if (cluster == 1) {
      return LaunchKernel(kernel, dim3(rows), threads, stream, params, in, out, cluster);
    }
    if (cluster > 8) {
      const cudaError_t error = cudaFuncSetAttribute(
          kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
      if (error != cudaSuccess) return error;
    }
    return LaunchClusters(kernel, rows, cluster, threads, stream, params, in, out, cluster);
  }
};

}  // namespace

cudaError_t LaunchRowsBlock(cudaStream_t stream, const RowsLaunch& rows, uint32_t threads,
                            uint32_t cluster) {
  return WithTypes(rows, Launcher{stream, threads, cluster});
}

bool RowClustersRun() {
  cudaFuncAttributes attributes;
  if (cudaFuncGetAttributes(&attributes, BlockRows<ScalarIn<F32>, ScalarOut>) != cudaSuccess) return false;
  return attributes.ptxVersion >= 90;
}

}  // namespace kvpage
