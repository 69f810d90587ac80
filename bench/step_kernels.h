// SPDX-License-Identifier: Apache-2.0
//
// bench/step_kernels.h
//
// The kernels that step_cuda_bench.cc and prefix_cuda_bench.cc measure beside the library's.

#ifndef KVPAGE_BENCH_STEP_KERNELS_H_
#define KVPAGE_BENCH_STEP_KERNELS_H_

#include <cuda_runtime_api.h>

#include <cstdint>

namespace kvpage::bench {

// One thread block that does nothing: what any node of a graph costs.
cudaError_t LaunchEmpty(cudaStream_t stream, uint32_t threads);

// A page table and reference counts as a server keeps them, without kvpage.
struct ServerTable {
  uint32_t* entries;     // [1 + num_rows][row_blocks]: row 0 is the parent of the others
  uint32_t* references;  // by block id
  uint32_t* last;        // by block id: set where a holder was the last
  uint32_t row_blocks;
  uint32_t num_rows;
};

// The counts alone: one atomic for each row and block of the parent's, whose ids are 1 ..
// row_blocks. Nobody reads or writes an entry or asks for the old count.
cudaError_t LaunchCountPerEntry(cudaStream_t stream, const ServerTable& table, int32_t delta);

// The way of servers, by one thread for each row and block. Fork: reads the parent's entry, adds
// one to its count, which tells the old one, and writes the child's entry. Close: reads the
// entry, takes one from its count, clears the entry, and notes the block if it was its last.
cudaError_t LaunchServerFork(cudaStream_t stream, const ServerTable& table);
cudaError_t LaunchServerClose(cudaStream_t stream, const ServerTable& table);

}  // namespace kvpage::bench

#endif  // KVPAGE_BENCH_STEP_KERNELS_H_
