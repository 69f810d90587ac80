// SPDX-License-Identifier: Apache-2.0
//
// bench/naive/bounded_spin.cuh
//
// Waiting for other threads of the GPU, but not for ever: a kernel that never ends takes the
// machine with it.

#ifndef KVPAGE_BENCH_NAIVE_BOUNDED_SPIN_CUH_
#define KVPAGE_BENCH_NAIVE_BOUNDED_SPIN_CUH_

#include <cstdint>

namespace kvpage::bench {

// Calls attempt() until it answers true, with pauses that grow to a microsecond. False: it never
// did, in what takes a second or so.
template <class Attempt>
__device__ bool BoundedSpin(Attempt attempt) {
#pragma unroll 1
  for (uint32_t i = 0; i < (1u << 20); ++i) {
    if (attempt()) return true;
    __nanosleep(i < 5 ? 32u << i : 1024u);
  }
  return false;
}

// A word that other threads change too: read and written each time it is named.
template <class T>
__device__ volatile T& Volatile(T& word) {
  return word;
}

}  // namespace kvpage::bench

#endif  // KVPAGE_BENCH_NAIVE_BOUNDED_SPIN_CUH_
