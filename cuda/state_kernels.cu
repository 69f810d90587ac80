// SPDX-License-Identifier: Apache-2.0
//
// Kernels that walk over the whole state: initialisation, audit, state hash.

#include "cuda/launch.h"
#include "cuda/launch_kernel.cuh"
#include "kvpage/core/audit.h"
#include "kvpage/core/state_hash.h"
#include "kvpage/cuda/kvpage.cuh"

namespace kvpage {
namespace {

constexpr uint32_t kThreads = 256;

__device__ uint64_t Worker() { return uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; }
__device__ uint64_t NumWorkers() { return uint64_t{gridDim.x} * blockDim.x; }

__global__ void InitPool(const __grid_constant__ BlockPoolStorage storage) {
  CudaBlockPoolRef(storage).Init(Worker(), NumWorkers());
}

__global__ void InitTable(const __grid_constant__ PageTableStorage storage) {
  CudaPageTableRef(storage).Init(Worker(), NumWorkers());
}

enum class AuditPass { kClear, kCount, kCheck };

template <AuditPass kPass>
__global__ void RunAudit(const __grid_constant__ BlockPoolStorage pool,
                         const __grid_constant__ PageTableStorage table, AuditReport* report,
                         uint32_t* workspace) {
  const Audit<CudaAtomics> audit(CudaBlockPoolRef(pool), CudaPageTableRef(table), report,
                                 workspace);
  if constexpr (kPass == AuditPass::kClear) {
    audit.Clear(Worker(), NumWorkers());
  } else if constexpr (kPass == AuditPass::kCount) {
    audit.Count(Worker(), NumWorkers());
  } else {
    audit.Check(Worker(), NumWorkers());
  }
}

__global__ void RunStateHash(const __grid_constant__ BlockPoolStorage pool,
                             const __grid_constant__ PageTableStorage table, uint64_t* hash) {
  AddStateHash(CudaBlockPoolRef(pool), CudaPageTableRef(table), Worker(), NumWorkers(), hash);
}

uint64_t NumItems(const BlockPoolStorage& pool, const PageTableStorage& table) {
  const uint64_t entries = uint64_t{table.max_sequences} * table.max_blocks_per_sequence;
  return entries > pool.num_blocks() ? entries : pool.num_blocks();
}

}  // namespace

cudaError_t LaunchInitPool(cudaStream_t stream, const BlockPoolStorage& pool) {
  return LaunchKernel(InitPool, dim3(GridFor(pool.num_blocks(), kThreads)), kThreads, stream, pool);
}

cudaError_t LaunchInitTable(cudaStream_t stream, const PageTableStorage& table) {
  const uint64_t entries = uint64_t{table.max_sequences} * table.max_blocks_per_sequence;
  return LaunchKernel(InitTable, dim3(GridFor(entries, kThreads)), kThreads, stream, table);
}

cudaError_t LaunchAudit(cudaStream_t stream, const BlockPoolStorage& pool,
                        const PageTableStorage& table, AuditReport* report, uint32_t* workspace) {
  const dim3 grid(GridFor(NumItems(pool, table), kThreads));
  cudaError_t error = LaunchKernel(RunAudit<AuditPass::kClear>, grid, kThreads, stream, pool, table,
                                   report, workspace);
  if (error == cudaSuccess) {
    error = LaunchKernel(RunAudit<AuditPass::kCount>, grid, kThreads, stream, pool, table, report,
                         workspace);
  }
  if (error == cudaSuccess) {
    error = LaunchKernel(RunAudit<AuditPass::kCheck>, grid, kThreads, stream, pool, table, report,
                         workspace);
  }
  return error;
}

cudaError_t LaunchStateHash(cudaStream_t stream, const BlockPoolStorage& pool,
                            const PageTableStorage& table, uint64_t* hash) {
  const cudaError_t error = cudaMemsetAsync(hash, 0, sizeof(*hash), stream);
  if (error != cudaSuccess) return error;
  return LaunchKernel(RunStateHash, dim3(GridFor(NumItems(pool, table), kThreads)), kThreads,
                      stream, pool, table, hash);
}

}  // namespace kvpage
