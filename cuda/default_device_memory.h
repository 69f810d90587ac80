// SPDX-License-Identifier: Apache-2.0
//
// cuda/default_device_memory.h
//
// The memory resource of CUDA owners that were given none. It has no state.

#ifndef KVPAGE_CUDA_DEFAULT_DEVICE_MEMORY_H_
#define KVPAGE_CUDA_DEFAULT_DEVICE_MEMORY_H_

#include "kvpage/cuda/cuda_memory_resource.h"

namespace kvpage {

inline CudaDeviceMemoryResource& DefaultDeviceMemory() {
  static CudaDeviceMemoryResource resource;
  return resource;
}

}  // namespace kvpage

#endif  // KVPAGE_CUDA_DEFAULT_DEVICE_MEMORY_H_
