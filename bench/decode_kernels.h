// SPDX-License-Identifier: Apache-2.0
//
// bench/decode_kernels.h
//
// What stands in for the model in decode_cuda_bench.cc: a draft kernel that writes a mark to the
// slot of each draft token, and a verify kernel that reads each row's line of the table and says
// how many of its tokens are accepted; between them, if wanted, a kernel that only takes time.
// The marks tell whether every block is still its row's.

#ifndef KVPAGE_BENCH_DECODE_KERNELS_H_
#define KVPAGE_BENCH_DECODE_KERNELS_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kvpage/core/macros.h"

namespace kvpage::bench {

inline constexpr int32_t kDecodeBlockTokens = 16;
inline constexpr int32_t kDraftTokens = 4;
inline constexpr int32_t kDecodeSteps = 200;  // from one start of the rows to the next
inline constexpr int32_t kPromptTokens = 1024;

// Blocks of the longest row there can be, with two drafts behind its tokens.
inline constexpr int32_t kDecodeRowBlocks =
    (kPromptTokens + (kDecodeSteps + 2) * kDraftTokens) / kDecodeBlockTokens + 2;

// Tokens of a row before its first step: staggered, so that few rows cross the edge of a block at
// once.
KVPAGE_HOST_DEVICE inline int32_t StartTokens(int32_t row) {
  return kPromptTokens + row % kDecodeBlockTokens;
}

// How many tokens of the row's draft are accepted in a step: 0 to all of them, as likely each.
KVPAGE_HOST_DEVICE inline int32_t AcceptedTokens(int32_t row, uint64_t step) {
  uint32_t x = static_cast<uint32_t>(row) * 40503u + static_cast<uint32_t>(step) * 2654435769u;
  x ^= x >> 15;
  x *= 2891336453u;
  x ^= x >> 13;
  x *= 1540483477u;
  return static_cast<int32_t>((x >> 8) % (kDraftTokens + 1));
}

// Arrays in device memory.
struct DecodeStep {
  const int32_t* table = nullptr;  // [num_rows][kDecodeRowBlocks], block ids
  int32_t* lengths = nullptr;      // [num_rows]
  int32_t* accepted = nullptr;     // [num_rows], written by the verify kernel
  uint32_t* marks = nullptr;       // by slot
  uint32_t* errors = nullptr;      // marks that were not as they should be
  int32_t num_rows = 0;
  bool with_draft = false;  // whether the lengths count the draft tokens too
  bool advance = false;     // whether the verify kernel adds what it accepts to the lengths

  uint32_t model_clocks = 0;  // that the kernel between the two takes; 0: there is none

  // The number of the step; only its remainder by kDecodeSteps counts.
  uint64_t step = 0;
  const uint64_t* epoch_word = nullptr;  // if given, the step is this, less 1
};

cudaError_t LaunchModel(cudaStream_t stream, const DecodeStep& step);

}  // namespace kvpage::bench

#endif  // KVPAGE_BENCH_DECODE_KERNELS_H_
