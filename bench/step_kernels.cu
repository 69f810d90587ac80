// SPDX-License-Identifier: Apache-2.0

#include "bench/step_kernels.h"

namespace kvpage::bench {
namespace {

constexpr uint32_t kThreads = 256;

__global__ void Empty() {}

__global__ void CountPerEntry(const __grid_constant__ ServerTable table, uint32_t delta) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= table.num_rows * table.row_blocks) return;
  atomicAdd(&table.references[1 + i % table.row_blocks], delta);
}

__global__ void ServerFork(const __grid_constant__ ServerTable table) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= table.num_rows * table.row_blocks) return;
  const uint32_t id = table.entries[i % table.row_blocks];
  // Nobody can share what nobody holds: then the child has no block.
  const bool held = atomicAdd(&table.references[id], 1u) > 0;
  table.entries[table.row_blocks + i] = held ? id : 0;
}

__global__ void ServerClose(const __grid_constant__ ServerTable table) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= table.num_rows * table.row_blocks) return;
  const uint32_t id = table.entries[table.row_blocks + i];
  if (id == 0) return;
  table.entries[table.row_blocks + i] = 0;
  if (atomicSub(&table.references[id], 1u) == 1) table.last[id] = 1;
}

uint32_t GridFor(const ServerTable& table) {
  return (table.num_rows * table.row_blocks + kThreads - 1) / kThreads;
}

}  // namespace

cudaError_t LaunchEmpty(cudaStream_t stream, uint32_t threads) {
  Empty<<<1, threads, 0, stream>>>();
  return cudaGetLastError();
}

cudaError_t LaunchCountPerEntry(cudaStream_t stream, const ServerTable& table, int32_t delta) {
  CountPerEntry<<<GridFor(table), kThreads, 0, stream>>>(table, static_cast<uint32_t>(delta));
  return cudaGetLastError();
}

cudaError_t LaunchServerFork(cudaStream_t stream, const ServerTable& table) {
  ServerFork<<<GridFor(table), kThreads, 0, stream>>>(table);
  return cudaGetLastError();
}

cudaError_t LaunchServerClose(cudaStream_t stream, const ServerTable& table) {
  ServerClose<<<GridFor(table), kThreads, 0, stream>>>(table);
  return cudaGetLastError();
}

}  // namespace kvpage::bench
