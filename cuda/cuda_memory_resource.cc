// SPDX-License-Identifier: Apache-2.0

#include "kvpage/cuda/cuda_memory_resource.h"

#include "cuda/cuda_status.h"

namespace kvpage {
namespace {

// What cudaMalloc and cudaMallocHost promise.
constexpr size_t kCudaAlignment = 256;

absl::Status CheckAlignment(size_t alignment) {
  if (alignment <= kCudaAlignment) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("kvpage: CUDA memory is aligned to ",
                                                 kCudaAlignment, " bytes, not ", alignment));
}

}  // namespace

absl::StatusOr<void*> CudaDeviceMemoryResource::Allocate(size_t bytes, size_t alignment) {
  absl::Status status = CheckAlignment(alignment);
  void* memory = nullptr;
  if (status.ok()) status = CudaStatus(cudaMalloc(&memory, bytes), "cudaMalloc");
  if (!status.ok()) return status;
  return memory;
}

void CudaDeviceMemoryResource::Deallocate(void* memory, size_t, size_t) noexcept {
  // An error here belongs to work that was enqueued before, or the process is ending.
  static_cast<void>(cudaFree(memory));
}

absl::StatusOr<void*> CudaPinnedMemoryResource::Allocate(size_t bytes, size_t alignment) {
  absl::Status status = CheckAlignment(alignment);
  void* memory = nullptr;
  if (status.ok()) status = CudaStatus(cudaMallocHost(&memory, bytes), "cudaMallocHost");
  if (!status.ok()) return status;
  return memory;
}

void CudaPinnedMemoryResource::Deallocate(void* memory, size_t, size_t) noexcept {
  static_cast<void>(cudaFreeHost(memory));
}

}  // namespace kvpage
