// SPDX-License-Identifier: Apache-2.0
//
// tests/cuda/cuda_workload_backends.cuh
//
// The workload backends (tests/conformance/workload_world.h) that run in CUDA kernels: every thread
// alone, the lanes of a warp that a branch divided, warps, thread blocks. Each with few and with
// many thread blocks, up to all that the GPU can hold and more.

#ifndef KVPAGE_TESTS_CUDA_CUDA_WORKLOAD_BACKENDS_CUH_
#define KVPAGE_TESTS_CUDA_CUDA_WORKLOAD_BACKENDS_CUH_

#include <cuda_runtime.h>

#include <cstdint>
#include <vector>

#include "kvpage/cuda/kvpage.cuh"
#include "tests/cuda/cuda_test.cuh"

namespace kvpage::test {

// What makes groups of the threads of a kernel. Each runs the workload once in every lane.
// kIsWhole: no group is smaller than a warp.
struct ThreadLanes {
  static constexpr bool kIsWhole = false;
  static uint32_t LanesPerUnit(uint32_t) { return 1; }
  template <class Workload>
  static __device__ void Run(const Workload& workload, uint32_t num_units) {
    const uint32_t unit = blockIdx.x * blockDim.x + threadIdx.x;
    ThreadGroup me = ThisThread();
    if (unit < num_units) workload(me, unit, unit);
  }
};

// Two groups per warp, divided at random, that run at the same time.
struct CoalescedLanes {
  static constexpr bool kIsWhole = false;
  static uint32_t LanesPerUnit(uint32_t) { return 32; }
  template <class Workload>
  static __device__ void Run(const Workload& workload, uint32_t num_units) {
    const uint32_t unit = WarpOfGrid();
    if (unit >= num_units) return;
    const bool left = (MixBits(unit) >> LaneOfWarp() & 1) != 0;
    const uint32_t lefts = __ballot_sync(~0u, left);
    if (left) {
      CoalescedGroup together(lefts);
      workload(together, unit, unit * 32);
    } else {
      CoalescedGroup together(~lefts);
      workload(together, unit, unit * 32 + PopCount(lefts));
    }
  }
};

struct WarpLanes {
  static constexpr bool kIsWhole = true;
  static uint32_t LanesPerUnit(uint32_t) { return 32; }
  template <class Workload>
  static __device__ void Run(const Workload& workload, uint32_t num_units) {
    const uint32_t unit = WarpOfGrid();
    WarpGroup warp;
    if (unit < num_units) workload(warp, unit, unit * 32);
  }
};

struct BlockLanes {
  static constexpr bool kIsWhole = true;
  static uint32_t LanesPerUnit(uint32_t threads) { return threads; }
  template <class Workload>
  static __device__ void Run(const Workload& workload, uint32_t num_units) {
    __shared__ ThreadBlockScratch scratch;
    ThreadBlockGroup block(scratch);
    if (blockIdx.x < num_units) workload(block, blockIdx.x, blockIdx.x * blockDim.x);
  }
};

template <class Lanes, class Workload>
__global__ void __launch_bounds__(1024)
    RunWorkload(const __grid_constant__ Workload workload, uint32_t num_units) {
  Lanes::Run(workload, num_units);
}

template <class Task>
__global__ void RunTask(const __grid_constant__ Task task) {
  task(uint64_t{blockIdx.x} * blockDim.x + threadIdx.x, uint64_t{gridDim.x} * blockDim.x);
}

template <class Lanes>
struct CudaWorkloadBackend {
  using Atomics = CudaAtomics;
  using Marks = CudaAtomics;
  static constexpr uint32_t kRounds = 8;

  struct Shape {
    uint32_t units;
    uint32_t threads;  // of a thread block
  };
  static std::vector<Shape> Shapes() {
    std::vector<Shape> shapes;
    const auto add = [&](uint32_t blocks, uint32_t threads) {
      shapes.push_back({blocks * threads / Lanes::LanesPerUnit(threads), threads});
    };
    add(1, 32);
    if (IsSmallRun()) {
      add(4, 64);
      return shapes;
    }
    const uint32_t multiprocessors = NumMultiprocessors();
    add(multiprocessors, 128);
    // Fewer threads where many of them make requests of their own.
    constexpr uint32_t kPart = Lanes::kIsWhole ? 1 : 4;
    add(2 * multiprocessors, 1024 / kPart);      // as many as the GPU can hold
    add(16 * multiprocessors + 1, 256 / kPart);  // more: some start when others have ended
    return shapes;
  }
  static uint32_t LanesPerUnit(const Shape& shape) { return Lanes::LanesPerUnit(shape.threads); }

  static void* Allocate(size_t bytes) {
    void* memory = nullptr;
    CheckCuda(cudaMalloc(&memory, bytes > 0 ? bytes : 1), "cudaMalloc");
    CheckCuda(cudaMemset(memory, 0, bytes), "cudaMemset");
    return memory;
  }
  static void Free(void* memory) { CheckCuda(cudaFree(memory), "cudaFree"); }
  static void Upload(void* to, const void* from, size_t bytes) {
    CheckCuda(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
  }
  static void Download(void* to, const void* from, size_t bytes) {
    CheckCuda(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost), "cudaMemcpy");
  }

  template <class Workload>
  static void Run(const Shape& shape, const Workload& workload) {
    const uint32_t lanes = shape.units * LanesPerUnit(shape);
    RunWorkload<Lanes>
        <<<(lanes + shape.threads - 1) / shape.threads, shape.threads>>>(workload, shape.units);
    CheckCuda(cudaGetLastError(), "launch");
    CheckCuda(cudaDeviceSynchronize(), "kernel");
  }
  template <class Task>
  static void RunWorkers(const Task& task) {
    RunTask<<<32, 256>>>(task);
    CheckCuda(cudaGetLastError(), "launch");
    CheckCuda(cudaDeviceSynchronize(), "kernel");
  }
};

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_CUDA_CUDA_WORKLOAD_BACKENDS_CUH_
