// SPDX-License-Identifier: Apache-2.0
//
// tests/cuda/in_kernel_launch.h
//
// The kernels of in_kernel_cache_test.cc, in plain types: that test is compiled by g++.

#ifndef KVPAGE_TESTS_CUDA_IN_KERNEL_LAUNCH_H_
#define KVPAGE_TESTS_CUDA_IN_KERNEL_LAUNCH_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kvpage/core/block_pool_storage.h"
#include "kvpage/core/page_table_storage.h"

namespace kvpage::test {

struct Findings;
struct KvCookie;

// What watches a pool; see PoolSite.
struct PoolWatch {
  uint32_t* holders;
  KvCookie* kv;
  BlockId* ids;  // [32 * warps * gather_per_lane]
  Findings* findings;
};

// `warps` warps of which the first `gatherers` take gather_per_lane blocks per lane again and
// again, and the others one per lane.
cudaError_t LaunchBudgets(cudaStream_t stream, const BlockPoolStorage& pool, const PoolWatch& watch,
                          uint32_t warps, uint32_t gatherers, uint32_t gather_per_lane,
                          uint32_t rounds);

// slots[i] = Slot(rows[i], positions[i]).
cudaError_t LaunchReadSlots(cudaStream_t stream, const PageTableStorage& table, const int32_t* rows,
                            const int64_t* positions, uint32_t count, int64_t* slots);

// Reads a row that only grows `passes` times. Counts in *errors a token within the row's length
// that has no slot in a block of the pool, or another slot than before. seen[capacity of the row]
// starts at -1 and is the readers' own.
cudaError_t LaunchReadGrowingRow(cudaStream_t stream, const BlockPoolStorage& pool,
                                 const PageTableStorage& table, uint32_t row, uint32_t passes,
                                 int64_t* seen, uint64_t* errors);

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_CUDA_IN_KERNEL_LAUNCH_H_
