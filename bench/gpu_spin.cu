// SPDX-License-Identifier: Apache-2.0

#include "bench/gpu_spin.h"

namespace kvpage::bench {
namespace {

__global__ void Spin(uint32_t clocks) {
  // The low half of the clock: the difference is right across a wrap, so the wait always ends.
  const uint32_t begin = static_cast<uint32_t>(clock64());
  while (static_cast<uint32_t>(clock64()) - begin < clocks) {
  }
}

}  // namespace

cudaError_t LaunchSpin(cudaStream_t stream, uint32_t clocks) {
  Spin<<<1, 1, 0, stream>>>(clocks);
  return cudaGetLastError();
}

}  // namespace kvpage::bench
