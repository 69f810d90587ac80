// SPDX-License-Identifier: Apache-2.0
//
// bench/gpu_timer.h
//
// The time of kernels by CUDA events, and device memory for benchmarks. An error ends the
// program: a number measured after one means nothing.
//
// A GPU that is faster than the host's next call waits for it, and events would count that wait:
// 3 to 6 us beside a short kernel. So a spin kernel goes first, and event, kernel and event are
// all queued before the GPU gets to them. What remains is the launch on the GPU itself, about
// what the same events tell of an empty kernel (BM_LimitEmptyKernel). Work whose host side takes
// longer than kSpinClocks still counts the host.

#ifndef KVPAGE_BENCH_GPU_TIMER_H_
#define KVPAGE_BENCH_GPU_TIMER_H_

#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "bench/gpu_spin.h"

namespace kvpage::bench {

inline void CheckCuda(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(error));
  std::abort();
}

class GpuTimer {
 public:
  explicit GpuTimer(cudaStream_t stream = nullptr) : stream_(stream) {
    CheckCuda(cudaEventCreate(&begin_));
    CheckCuda(cudaEventCreate(&end_));
  }
  ~GpuTimer() {
    CheckCuda(cudaEventDestroy(begin_));
    CheckCuda(cudaEventDestroy(end_));
  }
  GpuTimer(const GpuTimer&) = delete;
  GpuTimer& operator=(const GpuTimer&) = delete;

  // Seconds on the GPU of what `enqueue` puts on the stream. Waits for it.
  template <class Enqueue>
  double Seconds(Enqueue enqueue) {
    CheckCuda(LaunchSpin(stream_, kSpinClocks));
    CheckCuda(cudaEventRecord(begin_, stream_));
    enqueue();
    CheckCuda(cudaGetLastError());
    CheckCuda(cudaEventRecord(end_, stream_));
    CheckCuda(cudaEventSynchronize(end_));
    float milliseconds = 0;
    CheckCuda(cudaEventElapsedTime(&milliseconds, begin_, end_));
    return milliseconds * 1e-3;
  }

 private:
  static constexpr uint32_t kSpinClocks = 80000;  // 40 to 60 us

  cudaStream_t stream_;
  cudaEvent_t begin_ = nullptr;
  cudaEvent_t end_ = nullptr;
};

// An array in device memory. Its constructors wait until the memory is as they say, for any
// stream.
template <class T>
class DeviceArray {
 public:
  // Zeroed.
  explicit DeviceArray(uint64_t size) : size_(size) {
    void* memory = nullptr;
    CheckCuda(cudaMalloc(&memory, size * sizeof(T)));
    CheckCuda(cudaMemset(memory, 0, size * sizeof(T)));
    CheckCuda(cudaDeviceSynchronize());
    data_ = static_cast<T*>(memory);
  }
  explicit DeviceArray(const std::vector<T>& values) : DeviceArray(values.size()) {
    CheckCuda(cudaMemcpy(data_, values.data(), size_ * sizeof(T), cudaMemcpyHostToDevice));
    CheckCuda(cudaDeviceSynchronize());
  }
  ~DeviceArray() { CheckCuda(cudaFree(data_)); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  T* get() const { return data_; }
  uint64_t size() const { return size_; }
  std::vector<T> Download() const {
    std::vector<T> values(size_);
    CheckCuda(cudaMemcpy(values.data(), data_, size_ * sizeof(T), cudaMemcpyDeviceToHost));
    return values;
  }

 private:
  uint64_t size_;
  T* data_ = nullptr;
};

}  // namespace kvpage::bench

#endif  // KVPAGE_BENCH_GPU_TIMER_H_
