// SPDX-License-Identifier: Apache-2.0
//
// cuda/default_memory.h
//
// The memory resources of CUDA owners that were given none. They have no state.

#ifndef KVPAGE_CUDA_DEFAULT_MEMORY_H_
#define KVPAGE_CUDA_DEFAULT_MEMORY_H_

#include "kvpage/cuda/cuda_memory_resource.h"

namespace kvpage {

inline CudaDeviceMemoryResource& DefaultDeviceMemory() {
  static CudaDeviceMemoryResource resource;
  return resource;
}

inline CudaPinnedMemoryResource& DefaultPinnedMemory() {
  static CudaPinnedMemoryResource resource;
  return resource;
}

}  // namespace kvpage

#endif  // KVPAGE_CUDA_DEFAULT_MEMORY_H_
