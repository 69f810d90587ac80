// SPDX-License-Identifier: Apache-2.0
//
// Launchers of kernels that use a cache's pool and page table.

#include "tests/cuda/in_kernel_launch.h"

#include "kvpage/cuda/kvpage.cuh"
#include "tests/conformance/budget_workloads.h"

namespace kvpage::test {
namespace {

using Site = PoolSite<CudaAtomics, CudaAtomics>;

__global__ void RunBudgets(const __grid_constant__ Budgets<Site> workload) {
  WarpGroup warp;
  workload(warp, WarpOfGrid(), WarpOfGrid() * 32);
}

__global__ void ReadSlots(const __grid_constant__ PageTableStorage storage, const int32_t* rows,
                          const int64_t* positions, uint32_t count, int64_t* slots) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  slots[i] = CudaPageTableRef(storage).Slot(static_cast<uint32_t>(rows[i]), positions[i]);
}

__global__ void ReadGrowingRow(const __grid_constant__ BlockPoolStorage pool,
                               const __grid_constant__ PageTableStorage storage, uint32_t row,
                               uint32_t passes, int64_t* seen, uint64_t* errors) {
  const CudaPageTableRef table(storage);
  const CudaBlockPoolRef blocks(pool);
  const int64_t block_tokens = table.block_tokens();
  for (uint32_t pass = 0; pass < passes; ++pass) {
    const int32_t length = table.Sequence(row).kv_len;
    // Each position has one thread, so `seen` has one writer per word.
    for (int32_t position = static_cast<int32_t>(threadIdx.x); position < length;
         position += static_cast<int32_t>(blockDim.x)) {
      const int64_t slot = table.Slot(row, position);
      const bool is_right = slot >= 0 &&
                            blocks.IsBlock(static_cast<BlockId>(slot / block_tokens)) &&
                            slot % block_tokens == position % block_tokens &&
                            (seen[position] == -1 || seen[position] == slot);
      if (!is_right) CudaAtomics::AddRelaxed(errors, uint64_t{1});
      seen[position] = slot;
    }
  }
}

}  // namespace

cudaError_t LaunchBudgets(cudaStream_t stream, const BlockPoolStorage& pool, const PoolWatch& watch,
                          uint32_t warps, uint32_t gatherers, uint32_t gather_per_lane,
                          uint32_t rounds) {
  Site site;
  site.storage = pool;
  site.holders = watch.holders;
  site.kv = watch.kv;
  site.ids = watch.ids;
  site.ids_per_lane = gather_per_lane;
  site.findings = watch.findings;
  Budgets<Site> workload;
  workload.site = site;
  workload.rounds = rounds;
  workload.gatherers = gatherers;
  workload.gather_per_lane = gather_per_lane;
  workload.greedy = 0;
  workload.impossible = pool.num_blocks();
  RunBudgets<<<warps, 32, 0, stream>>>(workload);
  return cudaGetLastError();
}

cudaError_t LaunchReadSlots(cudaStream_t stream, const PageTableStorage& table, const int32_t* rows,
                            const int64_t* positions, uint32_t count, int64_t* slots) {
  ReadSlots<<<(count + 255) / 256, 256, 0, stream>>>(table, rows, positions, count, slots);
  return cudaGetLastError();
}

cudaError_t LaunchReadGrowingRow(cudaStream_t stream, const BlockPoolStorage& pool,
                                 const PageTableStorage& table, uint32_t row, uint32_t passes,
                                 int64_t* seen, uint64_t* errors) {
  ReadGrowingRow<<<1, 256, 0, stream>>>(pool, table, row, passes, seen, errors);
  return cudaGetLastError();
}

}  // namespace kvpage::test
