// SPDX-License-Identifier: Apache-2.0
//
// bench/step_kernels.h
//
// The kernels that step_cuda_bench.cc measures beside the library's.

#ifndef KVPAGE_BENCH_STEP_KERNELS_H_
#define KVPAGE_BENCH_STEP_KERNELS_H_

#include <cuda_runtime_api.h>

#include <cstdint>

namespace kvpage::bench {

// One thread block that does nothing: what any node of a graph costs.
cudaError_t LaunchEmpty(cudaStream_t stream, uint32_t threads);

// counts[i] += delta for i < num_blocks, once for each of num_rows rows: how sharing a prefix goes
// without merging.
cudaError_t LaunchAtomicPerRowAndBlock(cudaStream_t stream, uint32_t* counts, uint32_t num_blocks,
                                       uint32_t num_rows, int32_t delta);

}  // namespace kvpage::bench

#endif  // KVPAGE_BENCH_STEP_KERNELS_H_
