// SPDX-License-Identifier: Apache-2.0
//
// bench/layout_kernels.cuh
//
// What many threads do at once to the words of a page table and of a shared prefix, without the
// operations around it.

#ifndef KVPAGE_BENCH_LAYOUT_KERNELS_CUH_
#define KVPAGE_BENCH_LAYOUT_KERNELS_CUH_

#include <cstdint>

#include "bench/permute.h"
#include "kvpage/core/layout.h"
#include "kvpage/cuda/cuda_atomics.cuh"

namespace kvpage::bench {

enum class CommitBy { kStore, kCompareAndSwap };

// Each of 2^bits threads commits `rounds` changes of a row of its own: one release store, or one
// compare-and-swap, of its sequence word. Neighbours in a warp have neighbouring rows, or rows at
// random.
template <CommitBy kBy>
__global__ void CommitRows(uint64_t* words, WordLayout layout, uint32_t bits, bool scattered,
                           uint32_t rounds) {
  const uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
  const uint32_t row = scattered ? Permute(thread, bits) : thread;
  uint64_t* const word = &words[layout.Index(row)];
  uint64_t seen = CudaAtomics::LoadRelaxed(word);
  for (uint32_t round = 0; round < rounds; ++round) {
    if constexpr (kBy == CommitBy::kStore) {
      CudaAtomics::StoreRelease(word, ++seen);
    } else {
      // The row has one writer, so it succeeds.
      if (CudaAtomics::CompareExchangeRelaxed(word, seen, seen + 1)) ++seen;
    }
  }
}

enum class Sharing {
  kByBlock,  // a thread per row and block adds 1; a warp has one row's 32 neighbouring blocks
  kByRow,    // the same; a warp has one block of 32 rows, which the hardware can merge
  kMerged,   // a thread per block adds the number of rows
};

// `rows` rows take a reference to each of `blocks` neighbouring blocks, `rounds` times.
template <Sharing kSharing>
__global__ void SharePrefix(uint32_t* words, WordLayout layout, uint32_t blocks, uint32_t rows,
                            uint32_t rounds) {
  const uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
  const uint32_t block = kSharing == Sharing::kByRow ? thread / rows : thread % blocks;
  if (block >= blocks || (kSharing == Sharing::kMerged && thread >= blocks)) return;
  uint32_t* const word = &words[layout.Index(block)];
  const uint32_t references = kSharing == Sharing::kMerged ? rows : 1;
  for (uint32_t round = 0; round < rounds; ++round) CudaAtomics::AddRelaxed(word, references);
}

}  // namespace kvpage::bench

#endif  // KVPAGE_BENCH_LAYOUT_KERNELS_CUH_
