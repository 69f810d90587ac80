// SPDX-License-Identifier: Apache-2.0
//
// tests/cuda/cuda_test.cuh
//
// What the tests of kernels need of the machine. KVPAGE_TEST_SMALL=1 asks for small sizes, for runs
// under compute-sanitizer.

#ifndef KVPAGE_TESTS_CUDA_CUDA_TEST_CUH_
#define KVPAGE_TESTS_CUDA_CUDA_TEST_CUH_

#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace kvpage::test {

inline bool IsSmallRun() {
  const char* small = std::getenv("KVPAGE_TEST_SMALL");
  return small != nullptr && std::string_view(small) == "1";
}

// After an error of a kernel nothing on the device works any more, so it ends the program.
inline void CheckCuda(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  std::abort();
}

inline uint32_t NumMultiprocessors() {
  int device = 0;
  int count = 0;
  CheckCuda(cudaGetDevice(&device), "cudaGetDevice");
  CheckCuda(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device),
            "cudaDeviceGetAttribute");
  return static_cast<uint32_t>(count);
}

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_CUDA_CUDA_TEST_CUH_
