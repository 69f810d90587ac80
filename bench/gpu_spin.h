// SPDX-License-Identifier: Apache-2.0
//
// bench/gpu_spin.h
//
// A kernel that does nothing for a while, so that the host gets ahead of the GPU.

#ifndef KVPAGE_BENCH_GPU_SPIN_H_
#define KVPAGE_BENCH_GPU_SPIN_H_

#include <cuda_runtime_api.h>

#include <cstdint>

namespace kvpage::bench {

// One thread that waits for so many clocks of its multiprocessor.
cudaError_t LaunchSpin(cudaStream_t stream, uint32_t clocks);

}  // namespace kvpage::bench

#endif  // KVPAGE_BENCH_GPU_SPIN_H_
