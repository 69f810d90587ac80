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

// The same for a kernel that begins with AwaitEarlierWork (sm_90 and later: `blocks` thread blocks
// in clusters of `in_cluster`): it may be brought onto the GPU while what is before it in the
// stream comes to its end.
template <class... Parameters, class... Arguments>
cudaError_t LaunchEarly(void (*kernel)(Parameters...), uint32_t blocks, uint32_t in_cluster,
                        uint32_t threads, cudaStream_t stream, const Arguments&... arguments) {
  cudaLaunchAttribute attributes[2] = {};
  attributes[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[0].val.programmaticStreamSerializationAllowed = 1;
  attributes[1].id = cudaLaunchAttributeClusterDimension;
  attributes[1].val.clusterDim.x = in_cluster;
  attributes[1].val.clusterDim.y = 1;
  attributes[1].val.clusterDim.z = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(threads);
  config.stream = stream;
  config.attrs = attributes;
  config.numAttrs = in_cluster > 1 ? 2 : 1;
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

// Waits for what is before this kernel in its stream, all of it done and visible. Behind it the
// next kernel may be brought onto the GPU, and no more than that one.
__device__ inline void AwaitEarlierWork() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;\n\tgriddepcontrol.launch_dependents;" ::: "memory");
#endif
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
