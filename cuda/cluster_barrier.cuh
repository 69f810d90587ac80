// SPDX-License-Identifier: Apache-2.0
//
// cuda/cluster_barrier.cuh
//
// The barrier of a cluster in its two halves, and stores into the shared memory of its blocks.
// Before sm_90 there are no clusters: the calls compile and must not be reached.

#ifndef KVPAGE_CUDA_CLUSTER_BARRIER_CUH_
#define KVPAGE_CUDA_CLUSTER_BARRIER_CUH_

#include <cuda_runtime.h>

#include <cstdint>

namespace kvpage {

// Every thread of the cluster arrives, then waits. What a thread stored before it arrived, all see
// behind their wait.
__device__ inline void ClusterArrive() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
#endif
}
__device__ inline void ClusterWait() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}

// Stores 8 bytes where block `rank` of the cluster has what `shared` is here.
template <class T>
__device__ void StoreToBlock(T* shared, uint32_t rank, const T& value) {
  static_assert(sizeof(T) == 8);
#if __CUDA_ARCH__ >= 900
  const uint32_t here = static_cast<uint32_t>(__cvta_generic_to_shared(shared));
  asm volatile(
      "{ .reg .b32 there;\n"
      "mapa.shared::cluster.u32 there, %0, %1;\n"
      "st.shared::cluster.b64 [there], %2; }" ::"r"(here),
      "r"(rank), "l"(__builtin_bit_cast(uint64_t, value))
      : "memory");
#endif
}

}  // namespace kvpage

#endif  // KVPAGE_CUDA_CLUSTER_BARRIER_CUH_
