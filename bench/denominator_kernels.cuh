// SPDX-License-Identifier: Apache-2.0
//
// bench/denominator_kernels.cuh
//
// The denominator of a softmax over one long vector, Z = sum exp(x - m), with the sum merged in
// four ways, and the pass over the vector that none of them can do without:
//
//   DenominatorNaive   one atomic per element
//   DenominatorBlock   registers of a warp, then shared memory, then one atomic per 256 elements
//   DenominatorStride  the same from a fixed grid: one atomic per thread block, however long x is
//   DenominatorFixed   as DenominatorStride, but no atomic touches the sum: the last thread block
//                      adds the parts in the order of their index, and every run gives the same
//                      bits
//   ReadPass           reads x with the loop of DenominatorStride and keeps nothing
//
// n is a multiple of kThreads, x is aligned to 16 bytes. All but DenominatorFixed add to *z,
// which the caller zeroes. The kernels are no templates: include this in one source of a program.

#ifndef KVPAGE_BENCH_DENOMINATOR_KERNELS_CUH_
#define KVPAGE_BENCH_DENOMINATOR_KERNELS_CUH_

#include <cstdint>

#include "kvpage/core/bits.h"

namespace kvpage::bench::denominator {

inline constexpr uint32_t kThreads = 256;
inline constexpr uint32_t kWarps = kThreads / 32;
// The tree of DenominatorFixed is made of these two, so they depend on no device. 1024 thread
// blocks of 256 with four 16-byte loads each in flight keep the memory of an H200 busy.
inline constexpr uint32_t kFixedGrid = 1024;
inline constexpr uint32_t kLoadsInFlight = 4;

// Zeroed once; DenominatorFixed leaves `finished` at zero for its next run.
struct FixedScratch {
  float parts[kFixedGrid];
  uint32_t finished;
};

// Subtracts first: exp(x) alone overflows.
__device__ inline float Term(float x, float m) { return __expf(x - m); }

// Calls use(float4) for this thread's share of x. x is read once, so it need not stay in a cache.
template <class Use>
__device__ void ForShare(const float* x, uint64_t n, Use use) {
  const auto* const vectors = reinterpret_cast<const float4*>(x);
  const uint64_t size = n / 4;
  const uint64_t stride = uint64_t{gridDim.x} * kThreads;
  uint64_t i = uint64_t{blockIdx.x} * kThreads + threadIdx.x;
  for (; i + (kLoadsInFlight - 1) * stride < size; i += kLoadsInFlight * stride) {
    float4 loaded[kLoadsInFlight];
#pragma unroll
    for (uint32_t k = 0; k < kLoadsInFlight; ++k) loaded[k] = __ldcs(&vectors[i + k * stride]);
#pragma unroll
    for (uint32_t k = 0; k < kLoadsInFlight; ++k) use(loaded[k]);
  }
  for (; i < size; i += stride) use(__ldcs(&vectors[i]));
}

__device__ inline float ShareOfSum(const float* x, float m, uint64_t n) {
  float4 sum = {};
  ForShare(x, n, [&](const float4& v) {
    sum.x += Term(v.x, m);
    sum.y += Term(v.y, m);
    sum.z += Term(v.z, m);
    sum.w += Term(v.w, m);
  });
  return (sum.x + sum.y) + (sum.z + sum.w);
}

// Level one: five exchanges between registers. Complete in lane 0.
__device__ inline float WarpSum(float v) {
#pragma unroll
  for (uint32_t step = 16; step > 0; step /= 2) v += __shfl_down_sync(~0u, v, step);
  return v;
}

// Level two: one word of shared memory per warp, one barrier. Complete in thread 0.
__device__ inline float BlockSum(float v) {
  __shared__ float of_warp[kWarps];
  v = WarpSum(v);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x >= 32) return 0;
  return WarpSum(threadIdx.x < kWarps ? of_warp[threadIdx.x] : 0);
}

__global__ void DenominatorNaive(const float* x, float m, float* z) {
  atomicAdd(z, Term(x[uint64_t{blockIdx.x} * kThreads + threadIdx.x], m));
}

// Level three: one atomic per thread block.
__global__ void DenominatorBlock(const float* x, float m, float* z) {
  const float sum = BlockSum(Term(x[uint64_t{blockIdx.x} * kThreads + threadIdx.x], m));
  if (threadIdx.x == 0) atomicAdd(z, sum);
}

__global__ void __launch_bounds__(kThreads)
    DenominatorStride(const float* x, float m, uint64_t n, float* z) {
  const float sum = BlockSum(ShareOfSum(x, m, n));
  if (threadIdx.x == 0) atomicAdd(z, sum);
}

// REQUIRES: kFixedGrid thread blocks.
__global__ void __launch_bounds__(kThreads)
    DenominatorFixed(const float* x, float m, uint64_t n, FixedScratch* scratch, float* z) {
  __shared__ bool last;
  const float part = BlockSum(ShareOfSum(x, m, n));
  if (threadIdx.x == 0) {
    scratch->parts[blockIdx.x] = part;
    __threadfence();  // the part comes before the count that announces it
    last = atomicAdd(&scratch->finished, 1u) == kFixedGrid - 1;
    __threadfence();  // the count comes before the parts of the others
  }
  __syncthreads();
  if (!last) return;
  float sum = 0;
  for (uint32_t i = threadIdx.x; i < kFixedGrid; i += kThreads) sum += __ldcg(&scratch->parts[i]);
  sum = BlockSum(sum);
  if (threadIdx.x == 0) {
    *z = sum;
    scratch->finished = 0;
  }
}

__global__ void __launch_bounds__(kThreads) ReadPass(const float* x, uint64_t n, float* z) {
  float sum = 0;
  ForShare(x, n, [&](const float4& v) { sum += (v.x + v.y) + (v.z + v.w); });
  if (sum == -1e30f) *z = sum;  // never, but the compiler cannot know: the loads are needed
}

__global__ void Empty() {}

// x[i]: evenly spread over [-8, 8) in steps of 2^-20, so that x - 8 is exact and an error is that
// of exp and of the sum.
__global__ void FillInput(float* x, uint64_t n) {
  const uint64_t stride = uint64_t{gridDim.x} * blockDim.x;
  for (uint64_t i = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride) {
    const uint64_t bits = MixBits(i) >> 40;
    x[i] = static_cast<float>(static_cast<uint32_t>(bits)) * 0x1p-20f - 8.0f;
  }
}
inline constexpr float kMaximum = 8.0f;

}  // namespace kvpage::bench::denominator

#endif  // KVPAGE_BENCH_DENOMINATOR_KERNELS_CUH_
