// SPDX-License-Identifier: Apache-2.0
//
// The exports: rows shared out over the whole grid, to a warp each, or a thread block each where
// the rows are long; what has to be numbered first, by one thread block.

#include "cuda/launch.h"
#include "cuda/launch_kernel.cuh"
#include "kvpage/core/export_csr.h"
#include "kvpage/core/export_slots.h"
#include "kvpage/core/export_table.h"
#include "kvpage/cuda/kvpage.cuh"

namespace kvpage {
namespace {

constexpr uint32_t kThreads = 256;
constexpr uint32_t kWarps = kThreads / 32;

// Words of a row from which on a thread block writes it.
constexpr int64_t kLongRow = 512;

template <class G>
__device__ void Export(G& group, const CudaPageTableRef& table, const ExportTableBatch& batch,
                       uint32_t index, uint32_t num_groups) {
  ExportTable<CudaAtomics, G>(group, table, batch).Run(index, num_groups);
}
template <class G>
__device__ void Export(G& group, const CudaPageTableRef& table, const ExportSlotsBatch& batch,
                       uint32_t index, uint32_t num_groups) {
  ExportSlots<CudaAtomics, G>(group, table, batch).Write(index, num_groups);
}

template <class Batch>
__global__ void ExportByWarps(const __grid_constant__ PageTableStorage storage,
                              const __grid_constant__ Batch batch) {
  const CudaPageTableRef table(storage);
  WarpGroup warp;
  Export(warp, table, batch, blockIdx.x * kWarps + threadIdx.x / 32, gridDim.x * kWarps);
}

template <class Batch>
__global__ void __launch_bounds__(1024)
    ExportByBlocks(const __grid_constant__ PageTableStorage storage,
                   const __grid_constant__ Batch batch) {
  __shared__ ThreadBlockScratch scratch;
  const CudaPageTableRef table(storage);
  ThreadBlockGroup block(scratch);
  Export(block, table, batch, blockIdx.x, gridDim.x);
}

// `words`: of the longest row, or so.
template <class Batch>
cudaError_t LaunchRows(cudaStream_t stream, const PageTableStorage& table, const Batch& batch,
                       int64_t words) {
  const uint64_t rows = static_cast<uint64_t>(batch.padded_rows);
  if (words < kLongRow) {
    return LaunchKernel(ExportByWarps<Batch>, dim3(GridFor(rows, kWarps)), kThreads, stream, table,
                        batch);
  }
  const uint32_t threads = words < 4 * kLongRow ? kThreads : 1024;
  return LaunchKernel(ExportByBlocks<Batch>, dim3(GridFor(rows, 1)), threads, stream, table, batch);
}

__global__ void __launch_bounds__(1024) ScanSlots(const __grid_constant__ PageTableStorage storage,
                                                  const __grid_constant__ ExportSlotsBatch batch) {
  __shared__ ThreadBlockScratch scratch;
  const CudaPageTableRef table(storage);
  ThreadBlockGroup block(scratch);
  ExportSlots<CudaAtomics, ThreadBlockGroup>(block, table, batch).Scan();
}

__global__ void __launch_bounds__(1024) ScanCsr(const __grid_constant__ PageTableStorage storage,
                                                const __grid_constant__ ExportCsrBatch batch) {
  __shared__ ThreadBlockScratch scratch;
  const CudaPageTableRef table(storage);
  ThreadBlockGroup block(scratch);
  ExportCsr<CudaAtomics>(table, batch).Scan(block);
}

__global__ void FillCsr(const __grid_constant__ PageTableStorage storage,
                        const __grid_constant__ ExportCsrBatch batch) {
  const CudaPageTableRef table(storage);
  ExportCsr<CudaAtomics>(table, batch)
      .Fill(uint64_t{blockIdx.x} * blockDim.x + threadIdx.x, uint64_t{gridDim.x} * blockDim.x);
}

uint32_t ScanThreads(int32_t rows) {
  const uint32_t rounded = (static_cast<uint32_t>(rows) + 31) / 32 * 32;
  return rounded < 32 ? 32 : (rounded < 1024 ? rounded : 1024);
}

}  // namespace

cudaError_t LaunchExportTable(cudaStream_t stream, const PageTableStorage& table,
                              const ExportTableBatch& batch) {
  return LaunchRows(stream, table, batch, batch.width);
}

cudaError_t LaunchExportSlots(cudaStream_t stream, const PageTableStorage& table,
                              const ExportSlotsBatch& batch) {
  const cudaError_t error =
      LaunchKernel(ScanSlots, dim3(1), ScanThreads(batch.padded_rows), stream, table, batch);
  if (error != cudaSuccess) return error;
  // One row may have them all, but a batch of many rows is a step of a few tokens each.
  const int32_t rows = batch.padded_rows > 0 ? batch.padded_rows : 1;
  return LaunchRows(stream, table, batch, batch.slot_capacity / rows * 4);
}

cudaError_t LaunchExportCsr(cudaStream_t stream, const PageTableStorage& table,
                            const ExportCsrBatch& batch) {
  const cudaError_t error =
      LaunchKernel(ScanCsr, dim3(1), ScanThreads(batch.padded_rows), stream, table, batch);
  if (error != cudaSuccess || batch.index_capacity == 0) return error;
  const uint32_t grid = GridFor(static_cast<uint64_t>(batch.index_capacity), kThreads);
  return LaunchKernel(FillCsr, dim3(grid), kThreads, stream, table, batch);
}

}  // namespace kvpage
