// SPDX-License-Identifier: Apache-2.0
//
// tests/support/cuda_backend.h
//
// The backend (tests/support/backend.h) on a GPU, on a stream of its own; arrays of a batch are in
// pinned host memory.

#ifndef KVPAGE_TESTS_SUPPORT_CUDA_BACKEND_H_
#define KVPAGE_TESTS_SUPPORT_CUDA_BACKEND_H_

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <memory>

#include "kvpage/cuda/cuda_kv_cache.h"
#include "kvpage/cuda/cuda_memory_resource.h"
#include "tests/support/backend.h"

namespace kvpage::test {

struct CudaBackend {
  static constexpr const char* kName = "cuda";
  static constexpr uint32_t kModelRuns = 10;
  static constexpr uint32_t kModelSteps = 300;

  static BackendAccess Access() {
    static CudaPinnedMemoryResource pinned;
    static CudaDeviceMemoryResource device;
    return {Stream(), &pinned, &device, Copy, Copy};
  }
  static absl::StatusOr<std::unique_ptr<KvCache>> Create(const KvCacheOptions& options, uint64_t) {
    return CreateCudaKvCache(Stream(), options);
  }

  static StreamRef Stream() {
    static cudaStream_t stream = [] {
      cudaStream_t made = nullptr;
      EXPECT_EQ(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking), cudaSuccess);
      return made;
    }();
    return StreamRef(stream);
  }

 private:
  static void Copy(void* to, const void* from, size_t bytes) {
    EXPECT_EQ(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, Stream().get()), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(Stream().get()), cudaSuccess);
  }
};

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_SUPPORT_CUDA_BACKEND_H_
