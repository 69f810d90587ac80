// SPDX-License-Identifier: Apache-2.0
//
// The denominator of a softmax over one long vector, in the three ways of DenominatorMethod.
//
// kFixedOrder has no atomic: thread blocks post their parts, and the last thread block by number
// waits for the words themselves, one by one, instead of a counter behind a fence. A part is 64
// bits and its own announcement, so a single trip through the L2 lies between the last element and
// the result, not three. Thread blocks start in the order of their numbers, and only one waits, so
// it waits for blocks that run or have run.

#include "cuda/launch_kernel.cuh"
#include "cuda/softmax_elements.cuh"
#include "cuda/softmax_launch.h"
#include "cuda/softmax_state.cuh"

namespace kvpage {
namespace {

// Never 0 as bits: a maximum of 0 has a sum of at least 1, and a given maximum is not posted.
__device__ uint64_t BitsOf(const SoftmaxState& state) {
  return uint64_t{__float_as_uint(state.max)} << 32 | __float_as_uint(state.sum);
}
__device__ SoftmaxState StateOf(uint64_t bits) {
  if (bits == 0) return {};
  return {__uint_as_float(static_cast<uint32_t>(bits >> 32)),
          __uint_as_float(static_cast<uint32_t>(bits))};
}

__device__ uint64_t LoadRelaxed(const uint64_t* word) {
  uint64_t bits;
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(bits) : "l"(word) : "memory");
  return bits;
}
__device__ void StoreRelaxed(uint64_t* word, uint64_t bits) {
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(word), "l"(bits) : "memory");
}

struct Vector {
  const char* x;
  int64_t n;
  int64_t head;  // elements before the first that is aligned to 16 bytes
  int64_t raws;  // vectors from there
};

struct Result {
  const float* given_max;
  float* max;
  float* sum;

  __device__ void Write(const SoftmaxState& state) const {
    *max = state.max;
    *sum = state.max == INFINITY ? NAN : state.sum;
  }
};

// What parts `first`, first + step, ... have seen is merged by the caller in this order.
template <class E>
__device__ SoftmaxState PartOf(const Vector& v, const float* given_max, uint32_t part,
                               uint32_t parts) {
  constexpr int64_t kSize = 4 / E::kPerWord;
  OnlineState<VectorIn<E>> online = {{}, 0, kLog2E, given_max != nullptr};
  if (given_max != nullptr) {
    online.state.max = *given_max;
    online.anchor = Anchor(*given_max);
  }
  const int64_t tiles = (v.raws + kTileRaws<VectorIn<E>> - 1) / kTileRaws<VectorIn<E>>;
  ScanTiles<Reuse::kOnce>(VectorIn<E>{}, v.x + v.head * kSize, v.raws, part, parts, tiles, online);
  if (part == 0) {  // the elements that fill no vector, fewer than 16 at either end
    const int64_t body_end = v.head + v.raws * VectorIn<E>::kWidth;
    for (int64_t edge = threadIdx.x; edge < v.head + v.n - body_end; edge += kScanThreads) {
      const int64_t i = edge < v.head ? edge : body_end + edge - v.head;
      OnlineState<ScalarIn<E>> one = {online.state, online.anchor, kLog2E, online.keep_max};
      const float raws[1] = {LoadOne<E>(v.x, i)};
      one.Add(raws);
      online.state = one.state;
      online.anchor = one.anchor;
    }
  }
  return online.state;
}

template <class E>
__global__ void __launch_bounds__(kScanThreads, kBlocksPerMultiprocessor<kScanThreads, 8>)
    DenominatorFixed(const __grid_constant__ Vector v, const __grid_constant__ Result result,
                     uint32_t parts, uint64_t* words) {
  __shared__ SoftmaxState scratch[32];
  const bool given = result.given_max != nullptr;
  for (uint32_t part = blockIdx.x; part < parts; part += gridDim.x) {
    const SoftmaxState mine = PartOf<E>(v, result.given_max, part, parts);
    SoftmaxState whole = BlockMerged<false>(mine, kLog2E, scratch);
    if (threadIdx.x == 0) {
      if (parts == 1) return result.Write(whole);
      // Any number but 0 for a maximum that everybody knows: the sum alone may be 0.
      if (given) whole.max = 1;
      StoreRelaxed(&words[part], BitsOf(whole));
    }
    __syncthreads();
  }
  if (blockIdx.x != gridDim.x - 1 || parts == 1) return;

  SoftmaxState sum;
  for (uint32_t part = threadIdx.x; part < parts; part += kScanThreads) {
    uint64_t bits;
    do {
      bits = LoadRelaxed(&words[part]);
    } while (bits == 0);
    StoreRelaxed(&words[part], 0);
    sum = Merged(sum, StateOf(bits), kLog2E);
  }
  sum = BlockMerged<false>(sum, kLog2E, scratch);
  if (given) sum.max = *result.given_max;
  if (threadIdx.x == 0) result.Write(sum);
}

// One atomic per thread block: an addition where the maximum is given. Where it is found, a pair of
// maximum and sum must change as one, which only a compare-and-swap can; thread blocks that fail
// try again, so they are spread over a few pairs.
template <class E>
__global__ void __launch_bounds__(kScanThreads, kBlocksPerMultiprocessor<kScanThreads, 8>)
    DenominatorShuffle(const __grid_constant__ Vector v, const __grid_constant__ Result result,
                       uint32_t parts, DenominatorWorkspace* workspace) {
  __shared__ SoftmaxState scratch[32];
  SoftmaxState mine;
  if (result.given_max != nullptr) mine.max = *result.given_max;
  for (uint32_t part = blockIdx.x; part < parts; part += gridDim.x) {
    mine = Merged(mine, PartOf<E>(v, result.given_max, part, parts), kLog2E);
  }
  mine = BlockMerged<false>(mine, kLog2E, scratch);
  if (threadIdx.x >= 32) return;
  bool last = false;
  if (threadIdx.x == 0) {
    if (result.given_max != nullptr) {
      atomicAdd(&workspace->sum, mine.sum);
    } else {
      auto* const pair =
          reinterpret_cast<unsigned long long*>(&workspace->pairs[blockIdx.x % kDenominatorPairs]);
      unsigned long long seen = 0;
      unsigned long long expected;
      SoftmaxState sum = mine;
      do {
        expected = seen;
        seen = atomicCAS(pair, expected, BitsOf(sum));
        sum = Merged(StateOf(seen), mine, kLog2E);
      } while (seen != expected);
    }
    __threadfence();  // the sum comes before the count that announces it
    last = atomicAdd(&workspace->finished, 1u) == gridDim.x - 1;
    __threadfence();
  }
  if (!__shfl_sync(~0u, last, 0)) return;
  static_assert(kDenominatorPairs == 32);
  const SoftmaxState pairs =
      LanesMerged(StateOf(LoadRelaxed(&workspace->pairs[threadIdx.x])), kLog2E);
  StoreRelaxed(&workspace->pairs[threadIdx.x], 0);
  if (threadIdx.x != 0) return;
  result.Write(result.given_max != nullptr
                   ? SoftmaxState{*result.given_max, atomicExch(&workspace->sum, 0.0f)}
                   : pairs);
  workspace->finished = 0;
}

__global__ void NaiveStart(Result result) {
  *result.max = result.given_max != nullptr ? *result.given_max : -INFINITY;
  *result.sum = 0;
}

// Floats of one sign are ordered as their bits are; + 0 makes -0 a +0.
__device__ void AtomicMax(float* word, float v) {
  if (v >= 0) {
    atomicMax(reinterpret_cast<int*>(word), __float_as_int(v + 0.0f));
  } else if (v < 0) {
    atomicMin(reinterpret_cast<unsigned*>(word), __float_as_uint(v));
  }
}

template <bool kSum>
__global__ void NaivePass(const char* x, Dtype dtype, int64_t n, Result result) {
  float anchor = 0;
  if (kSum && *result.max != -INFINITY) anchor = *result.max;  // +inf - +inf: the sum is NaN
  const int64_t stride = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride) {
    const float v = LoadElement(x, dtype, i);
    if (kSum) {
      atomicAdd(result.sum, Exp2((v - anchor) * kLog2E));
    } else {
      AtomicMax(result.max, v);
    }
  }
}

template <class E>
cudaError_t Launch(cudaStream_t stream, const DenominatorArgs& args,
                   DenominatorWorkspace* workspace) {
  constexpr int64_t kSize = 4 / E::kPerWord;
  Vector v = {static_cast<const char*>(args.x), args.n, 0, 0};
  v.head = static_cast<int64_t>(-reinterpret_cast<uintptr_t>(args.x) % 16) / kSize;
  if (v.head > v.n) v.head = v.n;
  v.raws = (v.n - v.head) / VectorIn<E>::kWidth;
  const int64_t tiles = (v.raws + kTileRaws<VectorIn<E>> - 1) / kTileRaws<VectorIn<E>>;
  const uint32_t parts =
      tiles < 1 ? 1
                : (tiles < kDenominatorParts ? static_cast<uint32_t>(tiles) : kDenominatorParts);
  const uint32_t most = args.max_blocks > 0 ? static_cast<uint32_t>(args.max_blocks) : parts;
  const dim3 grid(parts < most ? parts : most);
  const Result result = {args.given_max, args.max, args.sum};
  if (args.method == DenominatorMethod::kWarpShuffle) {
    return LaunchKernel(DenominatorShuffle<E>, grid, kScanThreads, stream, v, result, parts,
                        workspace);
  }
  return LaunchKernel(DenominatorFixed<E>, grid, kScanThreads, stream, v, result, parts,
                      &workspace->parts[0]);
}

}  // namespace

cudaError_t LaunchDenominator(cudaStream_t stream, const DenominatorArgs& args,
                              DenominatorWorkspace* workspace) {
  switch (args.dtype) {
    case Dtype::kF32:
      return Launch<F32>(stream, args, workspace);
    case Dtype::kF16:
      return Launch<F16>(stream, args, workspace);
    case Dtype::kBf16:
      return Launch<Bf16>(stream, args, workspace);
    case Dtype::kE4m3:
      return Launch<E4m3>(stream, args, workspace);
  }
  return cudaErrorInvalidValue;
}

cudaError_t LaunchDenominatorNaive(cudaStream_t stream, const DenominatorArgs& args) {
  const Result result = {args.given_max, args.max, args.sum};
  const auto* const x = static_cast<const char*>(args.x);
  const int64_t blocks = args.n == 0 ? 1 : (args.n + kScanThreads - 1) / kScanThreads;
  const int64_t most = args.max_blocks > 0 ? args.max_blocks : int64_t{1} << 20;
  const dim3 grid(static_cast<uint32_t>(blocks < most ? blocks : most));
  cudaError_t error = LaunchKernel(NaiveStart, dim3(1), 1, stream, result);
  if (error == cudaSuccess && args.given_max == nullptr) {
    error =
        LaunchKernel(NaivePass<false>, grid, kScanThreads, stream, x, args.dtype, args.n, result);
  }
  if (error != cudaSuccess) return error;
  return LaunchKernel(NaivePass<true>, grid, kScanThreads, stream, x, args.dtype, args.n, result);
}

}  // namespace kvpage
