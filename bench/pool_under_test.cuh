// SPDX-License-Identifier: Apache-2.0
//
// bench/pool_under_test.cuh
//
// The host's side of a DevicePool: its memory, and the launches of the kernels that use it.

#ifndef KVPAGE_BENCH_POOL_UNDER_TEST_CUH_
#define KVPAGE_BENCH_POOL_UNDER_TEST_CUH_

#include <cstdint>

#include "bench/gpu_timer.h"
#include "bench/pool_kernels.cuh"

namespace kvpage::bench {

// Which blocks of a pool are taken, by nobody in particular, before something is measured.
enum class Held {
  kPacked,  // those that the first threads were given
  kRandom,  // all but some at random places; only for pools whose ids are 1 .. num_blocks = 2^k
};

template <DevicePool P>
class PoolUnderTest {
 public:
  using Id = typename P::Id;

  // `num_ids`: how many threads may keep what they take.
  PoolUnderTest(const BlockPoolOptions& options, uint64_t num_ids)
      : options_(options), memory_(RequiredBytes(options)), ids_(num_ids), missing_(1) {
    Carver carver(memory_.get());
    storage_ = P::Carve(carver, options_);
    Reset();
  }

  static uint64_t RequiredBytes(const BlockPoolOptions& options) {
    Carver counting(nullptr);
    P::Carve(counting, options);
    return counting.bytes();
  }

  // All blocks free.
  void Reset() {
    InitPool<P><<<1024, 256>>>(storage_);
    CheckCuda(cudaGetLastError());
    ResetMissing();
  }
  // `held` blocks taken. False if the pool refused one of them. REQUIRES: `held`, and for kRandom
  // num_blocks - held, is a multiple of 256.
  bool Fill(uint32_t held, Held how) {
    Reset();
    if (held == 0) return true;
    const uint32_t taken = how == Held::kRandom ? options_.num_blocks : held;
    Allocate<P><<<taken / 256, 256>>>(storage_, nullptr, missing_.get());
    if (taken > held) FreeAtRandom<P><<<(taken - held) / 256, 256>>>(storage_, Bits());
    CheckCuda(cudaGetLastError());
    return TakeMissing() == 0;
  }

  void Take(uint32_t threads, uint32_t per_block) {
    Allocate<P><<<threads / per_block, per_block>>>(storage_, ids_.get(), missing_.get());
  }
  void GiveBack(uint32_t threads, uint32_t per_block) {
    Free<P><<<threads / per_block, per_block>>>(storage_, ids_.get());
  }
  void Run(uint32_t threads, uint32_t per_block, uint32_t rounds) {
    Churn<P><<<threads / per_block, per_block>>>(storage_, rounds, missing_.get());
  }

  // Requests without a block since the last call; waits for the GPU.
  uint64_t TakeMissing() {
    const uint64_t missing = missing_.Download()[0];
    ResetMissing();
    return missing;
  }

  const typename P::Storage& storage() const { return storage_; }
  const BlockPoolOptions& options() const { return options_; }
  const DeviceArray<Id>& ids() const { return ids_; }

 private:
  void ResetMissing() { CheckCuda(cudaMemset(missing_.get(), 0, sizeof(unsigned long long))); }
  // log2 of num_blocks.
  uint32_t Bits() const { return LowestBit(options_.num_blocks); }

  BlockPoolOptions options_;
  DeviceArray<char> memory_;
  DeviceArray<Id> ids_;
  DeviceArray<unsigned long long> missing_;
  typename P::Storage storage_;
};

}  // namespace kvpage::bench

#endif  // KVPAGE_BENCH_POOL_UNDER_TEST_CUH_
