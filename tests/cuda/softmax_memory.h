// SPDX-License-Identifier: Apache-2.0
//
// tests/cuda/softmax_memory.h
//
// Device memory for the tests of softmax that only a GPU can run.

#ifndef KVPAGE_TESTS_CUDA_SOFTMAX_MEMORY_H_
#define KVPAGE_TESTS_CUDA_SOFTMAX_MEMORY_H_

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "kvpage/stream_ref.h"

namespace kvpage::test {

// Under a sanitizer large cases would take hours.
inline bool IsSmallRun() {
  const char* small = std::getenv("KVPAGE_TEST_SMALL");
  return small != nullptr && std::string_view(small) == "1";
}

// Device memory of any size, or none if the GPU has too little.
class Memory {
 public:
  explicit Memory(size_t bytes) {
    if (cudaMalloc(&memory_, bytes) != cudaSuccess) {
      memory_ = nullptr;
      cudaGetLastError();
    }
  }
  ~Memory() { cudaFree(memory_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  char* get() const { return static_cast<char*>(memory_); }
  template <class T>
  T* as() const {
    return static_cast<T*>(memory_);
  }

 private:
  void* memory_ = nullptr;
};

template <class T>
std::vector<T> Read(const void* from, size_t count) {
  std::vector<T> values(count);
  EXPECT_EQ(cudaMemcpy(values.data(), from, count * sizeof(T), cudaMemcpyDeviceToHost),
            cudaSuccess);
  return values;
}
template <class T>
void Write(void* to, const std::vector<T>& values) {
  EXPECT_EQ(cudaMemcpy(to, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice),
            cudaSuccess);
}
inline float OfBf16(uint16_t bits) {
  const uint32_t word = uint32_t{bits} << 16;
  float f;
  std::memcpy(&f, &word, sizeof(f));
  return f;
}

inline constexpr StreamRef kStream = StreamRef::Default();

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_CUDA_SOFTMAX_MEMORY_H_
