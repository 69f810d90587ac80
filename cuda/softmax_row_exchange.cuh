// SPDX-License-Identifier: Apache-2.0
//
// cuda/softmax_row_exchange.cuh
//
// How the warps that keep one row exchange their states: all threads of a thread block, or of a
// cluster of them. Every warp stores its state in the shared memory of each block; one barrier;
// then every warp merges them all by itself, in the same order.

#ifndef KVPAGE_CUDA_SOFTMAX_ROW_EXCHANGE_CUH_
#define KVPAGE_CUDA_SOFTMAX_ROW_EXCHANGE_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "cuda/cluster_barrier.cuh"
#include "cuda/softmax_launch.h"
#include "cuda/softmax_state.cuh"

namespace kvpage {

class RowExchange {
 public:
  // In turn, so that a warp that is a row ahead disturbs nobody.
  struct Scratch {
    SoftmaxState states[2][kMaxRowThreads / 32 * kMaxRowCluster];
  };

  // `cluster`: thread blocks, 1 where there is no cluster.
  __device__ RowExchange(Scratch& scratch, uint32_t cluster)
      : scratch_(scratch), cluster_(cluster), started_(cluster == 1) {
    // Nobody may write into a thread block that has not started.
    if (cluster > 1) ClusterArrive();
  }
  // Before the kernel ends, by every thread.
  __device__ void Finish() {
    if (!started_) ClusterWait();
    started_ = true;
  }

  // Sends the state of this warp to all. Await follows, then Merge.
  __device__ void Send(const SoftmaxState& mine) {
    const uint32_t lane = threadIdx.x % 32;
    const uint32_t warps = blockDim.x / 32;
    SoftmaxState* const states = scratch_.states[turn_];
    if (cluster_ == 1) {
      if (lane == 0) states[threadIdx.x / 32] = mine;
    } else {
      Finish();
      const uint32_t slot = blockIdx.x % cluster_ * warps + threadIdx.x / 32;
      if (lane < cluster_) StoreToBlock(&states[slot], lane, mine);
      ClusterArrive();
    }
  }
  // Until all have sent; only for this thread block's own warps a __syncthreads is still missing.
  __device__ void Await() const {
    if (cluster_ > 1) ClusterWait();
  }
  // The state of the whole row, in every thread. The maximum first: every warp does this for
  // itself, and one exponential for each state is all that it can afford.
  __device__ SoftmaxState Merge(float scale) {
    const SoftmaxState* const states = scratch_.states[turn_];
    const uint32_t count = blockDim.x / 32 * cluster_;
    turn_ ^= 1;
    SoftmaxState merged;
    for (uint32_t i = threadIdx.x % 32; i < count; i += 32) {
      merged.max = fmaxf(merged.max, states[i].max);
    }
    merged.max = LanesMax(merged.max);
    for (uint32_t i = threadIdx.x % 32; i < count; i += 32) {
      merged.sum += states[i].sum * Decay(states[i].max, merged.max, scale);
    }
    merged.sum = LanesSum(merged.sum);
    return merged;
  }

 private:
  Scratch& scratch_;
  uint32_t cluster_;
  bool started_;
  uint32_t turn_ = 0;
};

// What the threads of a warp hold of a row, merged.
template <class Part>
__device__ SoftmaxState WarpState(const Part& part, float scale) {
  SoftmaxState state;
  state.max = LanesMax(part.Max());
  state.sum = LanesSum(part.Sum(Anchor(state.max), scale));
  return state;
}

}  // namespace kvpage

#endif  // KVPAGE_CUDA_SOFTMAX_ROW_EXCHANGE_CUH_
