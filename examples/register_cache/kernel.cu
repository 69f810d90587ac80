// SPDX-License-Identifier: Apache-2.0
//
// examples/register_cache/kernel.cu
//
// One walk, three levels of memory.

#include "kvpage/core/register_cache.h"
#include "kvpage/cuda/kvpage.cuh"
#include "walk.h"

namespace {

using kvpage::BlockId;
using kvpage::WarpGroup;

template <Level kLevel>
__global__ void WalkRow(const volatile BlockId* row, Walked* walked) {
  __shared__ BlockId copy[kEntries];
  const volatile BlockId* const shared = copy;
  const WarpGroup warp;
  kvpage::RegisterCache<BlockId, WarpGroup> cache(warp);
  cache.Fill([&](uint32_t i) { return row[i]; });
  copy[warp.rank()] = row[warp.rank()];
  warp.Sync();
  const long long begin = clock64();
  const BlockId end = Walk(warp.rank(), [&](uint32_t i) -> BlockId {
    if constexpr (kLevel == Level::kRegister) return cache.Get(i);
    if constexpr (kLevel == Level::kShared) return shared[i];
    return row[i];
  });
  if (warp.rank() == 0) walked->clocks = clock64() - begin;
  walked->ends[warp.rank()] = end;
}

}  // namespace

bool WalkOnGpu(Level level, const BlockId (&row)[kEntries], Walked* walked) {
  BlockId* on_gpu = nullptr;
  Walked* result = nullptr;
  bool ok = cudaMalloc(&on_gpu, sizeof(row)) == cudaSuccess &&
            cudaMalloc(&result, sizeof(Walked)) == cudaSuccess &&
            cudaMemcpy(on_gpu, row, sizeof(row), cudaMemcpyHostToDevice) == cudaSuccess;
  if (ok) {
    const auto kernel = level == Level::kRegister ? WalkRow<Level::kRegister>
                        : level == Level::kShared ? WalkRow<Level::kShared>
                                                  : WalkRow<Level::kGlobal>;
    kernel<<<1, kEntries>>>(on_gpu, result);
    ok = cudaGetLastError() == cudaSuccess &&
         cudaMemcpy(walked, result, sizeof(Walked), cudaMemcpyDeviceToHost) == cudaSuccess;
  }
  cudaFree(result);
  cudaFree(on_gpu);
  return ok;
}
