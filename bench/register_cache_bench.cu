// SPDX-License-Identifier: Apache-2.0
//
// A row of 32 entries that every lane of a warp reads again and again: from registers
// (kvpage/core/register_cache.h), from shared memory, from global memory. Each read depends on the
// one before, so that the time of one is its latency; clocks_per_read is of one warp alone.

#include "bench/softmax_case.h"
#include "kvpage/core/register_cache.h"
#include "kvpage/cuda/warp_groups.cuh"

namespace kvpage::bench {
namespace {

enum class Level { kRegister, kShared, kGlobal };

constexpr uint32_t kReads = 4096;

// The entries are a permutation of 0 .. 31; each read tells which is next.
template <Level kLevel>
__global__ void ReadRow(const volatile uint32_t* row, uint32_t* last, long long* clocks) {
  __shared__ uint32_t shared[32];
  const WarpGroup warp;
  RegisterCache<uint32_t, WarpGroup> cache(warp);
  cache.Fill([&](uint32_t i) { return row[i]; });
  shared[warp.rank()] = row[warp.rank()];
  warp.Sync();
  uint32_t i = warp.rank();
  const long long begin = clock64();
#pragma unroll 8
  for (uint32_t n = 0; n < kReads; ++n) {
    if constexpr (kLevel == Level::kRegister) i = cache.Get(i);
    if constexpr (kLevel == Level::kShared) i = static_cast<volatile uint32_t*>(shared)[i];
    if constexpr (kLevel == Level::kGlobal) i = row[i];
  }
  const long long end = clock64();
  last[threadIdx.x] = i;
  if (threadIdx.x == 0) *clocks = end - begin;
}

template <Level kLevel>
void BM_RegisterCacheRead(benchmark::State& state) {
  std::vector<uint32_t> next(32);
  for (uint32_t i = 0; i < 32; ++i) next[i] = (5 * i + 7) % 32;
  const DeviceArray<uint32_t> row(next);
  const DeviceArray<uint32_t> last(32);
  const DeviceArray<long long> clocks(1);
  std::vector<double> per_read;
  for (auto _ : state) {
    state.SetIterationTime(ColdSeconds([&](cudaStream_t stream) {
      ReadRow<kLevel><<<1, 32, 0, stream>>>(row.get(), last.get(), clocks.get());
    }));
    per_read.push_back(static_cast<double>(clocks.Download()[0]) / kReads);
  }
  std::sort(per_read.begin(), per_read.end());
  state.counters["clocks_per_read"] = per_read[per_read.size() / 2];
}

BENCHMARK_TEMPLATE(BM_RegisterCacheRead, Level::kRegister)->UseManualTime()->Iterations(5);
BENCHMARK_TEMPLATE(BM_RegisterCacheRead, Level::kShared)->UseManualTime()->Iterations(5);
BENCHMARK_TEMPLATE(BM_RegisterCacheRead, Level::kGlobal)->UseManualTime()->Iterations(5);

}  // namespace
}  // namespace kvpage::bench
