// SPDX-License-Identifier: Apache-2.0
//
// kvpage/cuda/cuda_memory_resource.h
//
// The two kinds of memory that a CUDA cache works with. Device memory holds its state. Pinned host
// memory suits the arrays of a batch: the host writes rows and reads statuses there with no copy,
// and a kernel reaches them by the same pointer.
//
// Thread safety: all methods may be called from any thread; memory comes from the current device.
// Cost: these allocations synchronise with the device; kvpage makes them only at creation and in
//   diagnostics. Failure: ResourceExhausted with CUDA's own words.

#ifndef KVPAGE_CUDA_CUDA_MEMORY_RESOURCE_H_
#define KVPAGE_CUDA_CUDA_MEMORY_RESOURCE_H_

#include <cstddef>

#include "absl/status/statusor.h"

#include "kvpage/export.h"
#include "kvpage/memory_resource.h"

namespace kvpage {

class KVPAGE_EXPORT CudaDeviceMemoryResource : public MemoryResource {
 public:
  absl::StatusOr<void*> Allocate(size_t bytes, size_t alignment) override;
  void Deallocate(void* memory, size_t bytes, size_t alignment) noexcept override;
};

class KVPAGE_EXPORT CudaPinnedMemoryResource : public MemoryResource {
 public:
  absl::StatusOr<void*> Allocate(size_t bytes, size_t alignment) override;
  void Deallocate(void* memory, size_t bytes, size_t alignment) noexcept override;
};

}  // namespace kvpage

#endif  // KVPAGE_CUDA_CUDA_MEMORY_RESOURCE_H_
