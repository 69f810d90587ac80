// SPDX-License-Identifier: Apache-2.0
//
// examples/graph_decode/kernels.h
//
// What main.cc asks of the GPU: a drafting model and a verifying one, which a server would have in
// their place.

#ifndef KVPAGE_EXAMPLES_GRAPH_DECODE_KERNELS_H_
#define KVPAGE_EXAMPLES_GRAPH_DECODE_KERNELS_H_

#include <cuda_runtime_api.h>

#include <cstdint>

inline constexpr int32_t kRows = 32;
inline constexpr int32_t kDraftTokens = 5;
inline constexpr int32_t kBlockTokens = 16;
inline constexpr int32_t kRowBlocks = 128;
inline constexpr int32_t kBlocks = kRows * kRowBlocks;

// Arrays that kernels and kvpage share, at addresses that stay.
struct DecodeArrays {
  uint64_t* kv;         // [kBlocks + 1][kBlockTokens]: a token's KV is one number
  int64_t* slots;       // [kRows * kDraftTokens], where the drafted tokens go
  int32_t* table;       // [kRows][kRowBlocks], blocks of each row with its draft
  int32_t* lengths;     // [kRows], tokens of each row with its draft
  int32_t* accepted;    // [kRows], how many of them are committed
  int32_t* total;       // [kRows], the sum of those
  uint64_t* misplaced;  // tokens that were not where the table said
};

// The KV of a token. A real one depends on all tokens before; position and row will do here.
constexpr uint64_t KvOf(uint64_t row, uint64_t position) { return row << 32 | position; }

cudaError_t LaunchDraft(cudaStream_t stream, const DecodeArrays& arrays);
cudaError_t LaunchVerify(cudaStream_t stream, const DecodeArrays& arrays);

#endif  // KVPAGE_EXAMPLES_GRAPH_DECODE_KERNELS_H_
