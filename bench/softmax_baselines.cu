// SPDX-License-Identifier: Apache-2.0
//
// What softmax is measured beside: see softmax_case.h.

#include <cub/device/device_reduce.cuh>
#include <cuda/std/functional>

#include "bench/denominator_kernels.cuh"
#include "bench/gpu_timer.h"
#include "bench/softmax_case.h"

namespace kvpage::bench {
namespace {

using denominator::kFixedGrid;
using denominator::kThreads;

// Rounded down to the type: an error against the exact sum of what is there is that of the kernel.
__global__ void FillSmall(uint8_t* x, int64_t n, Dtype dtype) {
  const int64_t stride = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride) {
    const uint32_t bits = static_cast<uint32_t>(MixBits(static_cast<uint64_t>(i)) >> 40);
    const float v = static_cast<float>(bits) * 0x1p-20f - 8.0f;
    if (dtype == Dtype::kF16) {
      uint16_t half;
      asm("cvt.rz.f16.f32 %0, %1;" : "=h"(half) : "f"(v));
      reinterpret_cast<uint16_t*>(x)[i] = half;
    } else if (dtype == Dtype::kBf16) {
      reinterpret_cast<uint16_t*>(x)[i] = static_cast<uint16_t>(__float_as_uint(v) >> 16);
    } else {
      x[i] = static_cast<uint8_t>((bits & 0x80) | bits % 0x51);  // at most 9
    }
  }
}

struct TermOf {
  float m;
  __device__ float operator()(float x) const { return denominator::Term(x, m); }
};

}  // namespace

void FillLogits(char* x, Dtype dtype, int64_t n, cudaStream_t stream) {
  if (dtype == Dtype::kF32) {
    denominator::FillInput<<<kFixedGrid, kThreads, 0, stream>>>(reinterpret_cast<float*>(x),
                                                                static_cast<uint64_t>(n));
  } else {
    FillSmall<<<kFixedGrid, kThreads, 0, stream>>>(reinterpret_cast<uint8_t*>(x), n, dtype);
  }
}

void ReadOnly(const char* x, int64_t bytes, cudaStream_t stream) {
  const auto* const floats = reinterpret_cast<const float*>(x);
  denominator::ReadPass<<<kFixedGrid, kThreads, 0, stream>>>(
      floats, static_cast<uint64_t>(bytes / 4), const_cast<float*>(floats));
}

void DenominatorByBlocks(const float* x, float max, int64_t n, float* sum, cudaStream_t stream) {
  CheckCuda(cudaMemsetAsync(sum, 0, sizeof(float), stream));
  denominator::DenominatorBlock<<<static_cast<uint32_t>(n / kThreads), kThreads, 0, stream>>>(
      x, max, sum);
}

void CubDenominator(const float* x, float max, int64_t n, float* sum, cudaStream_t stream) {
  const Workspace memory = SoftmaxArrays::Get().workspace();
  size_t bytes = memory.bytes / 2;  // the upper half: the library's must stay zero
  CheckCuda(cub::DeviceReduce::TransformReduce(static_cast<char*>(memory.memory) + bytes, bytes, x,
                                               sum, n, ::cuda::std::plus<>{}, TermOf{max}, 0.0f,
                                               stream));
}

}  // namespace kvpage::bench
