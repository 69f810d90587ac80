// SPDX-License-Identifier: Apache-2.0
//
// cuda/launch_kernel.cuh
//
// Launches a kernel and answers that launch's own error (cudaGetLastError could answer somebody
// else's).

#ifndef KVPAGE_CUDA_LAUNCH_KERNEL_CUH_
#define KVPAGE_CUDA_LAUNCH_KERNEL_CUH_

#include <cuda_runtime.h>

#include <cstdint>

namespace kvpage {

// Thread blocks for __launch_bounds__: `kWanted`, or as many as this architecture runs at a time in
// a multiprocessor.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 750
inline constexpr uint32_t kThreadsPerMultiprocessor = 1024;
#elif defined(__CUDA_ARCH__) && (__CUDA_ARCH__ == 860 || __CUDA_ARCH__ == 870 || \
                                 __CUDA_ARCH__ == 890 || __CUDA_ARCH__ >= 1100)
inline constexpr uint32_t kThreadsPerMultiprocessor = 1536;
#else
inline constexpr uint32_t kThreadsPerMultiprocessor = 2048;
#endif
template <uint32_t kThreads, uint32_t kWanted>
inline constexpr uint32_t kBlocksPerMultiprocessor =
    kThreads* kWanted <= kThreadsPerMultiprocessor ? kWanted : kThreadsPerMultiprocessor / kThreads;

template <class... Parameters, class... Arguments>
cudaError_t LaunchKernel(void (*kernel)(Parameters...), dim3 grid, uint32_t threads,
                         cudaStream_t stream, const Arguments&... arguments) {
  cudaLaunchConfig_t config = {};
  config.gridDim = grid;
  config.blockDim = dim3(threads);
  config.stream = stream;
  return cudaLaunchKernelEx(&config, kernel, arguments...);
}

// The configuration of `clusters` clusters of `blocks` thread blocks; stays where it was made.
struct ClusterLaunch {
  ClusterLaunch(uint32_t clusters, uint32_t blocks, uint32_t threads, size_t shared_bytes,
                cudaStream_t stream) {
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = blocks;
    attribute.val.clusterDim.y = 1;
    attribute.val.clusterDim.z = 1;
    config.gridDim = dim3(clusters * blocks);
    config.blockDim = dim3(threads);
    config.dynamicSmemBytes = shared_bytes;
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = 1;
  }
  ClusterLaunch(const ClusterLaunch&) = delete;
  ClusterLaunch& operator=(const ClusterLaunch&) = delete;

  cudaLaunchAttribute attribute = {};
  cudaLaunchConfig_t config = {};
};

template <class... Parameters, class... Arguments>
cudaError_t LaunchClusters(void (*kernel)(Parameters...), uint32_t clusters, uint32_t blocks,
                           uint32_t threads, size_t shared_bytes, cudaStream_t stream,
                           const Arguments&... arguments) {
  const ClusterLaunch launch(clusters, blocks, threads, shared_bytes, stream);
  return cudaLaunchKernelEx(&launch.config, kernel, arguments...);
}

// The same for one cluster.
template <class... Parameters, class... Arguments>
cudaError_t LaunchCluster(void (*kernel)(Parameters...), uint32_t blocks, uint32_t threads,
                          cudaStream_t stream, const Arguments&... arguments) {
  return LaunchClusters(kernel, 1, blocks, threads, 0, stream, arguments...);
}

// Thread blocks of `threads` for `items` pieces of work that are shared out with a grid-wide
// stride.
inline uint32_t GridFor(uint64_t items, uint32_t threads) {
  const uint64_t blocks = (items + threads - 1) / threads;
  const uint64_t most = 1024;
  return static_cast<uint32_t>(blocks < 1 ? 1 : (blocks < most ? blocks : most));
}

}  // namespace kvpage

#endif  // KVPAGE_CUDA_LAUNCH_KERNEL_CUH_
