// SPDX-License-Identifier: Apache-2.0
//
// examples/graph_decode/main.cc
//
// Speculative decoding in one CUDA graph: open a draft for every row, run the drafting model,
// export the table with the drafts, run the verifying model, commit as many tokens as it has
// counted, and complete the step's epoch. The host launches the graph again and again and never
// waits: it does not even know how long the rows are. Exits with 77 where there is no GPU.

#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstring>
#include <memory>

#include "absl/status/status.h"
#include "absl/types/span.h"

#include "kernels.h"
#include "kvpage/core/carver.h"
#include "kvpage/cuda/cuda_kv_cache.h"
#include "kvpage/cuda/cuda_memory_resource.h"
#include "kvpage/owned_memory.h"

namespace {

using kvpage::BlockCopy;
using kvpage::OpStatus;
using kvpage::StreamRef;

constexpr int32_t kSteps = 400;
constexpr int32_t kPromptTokens = 20;

// Pinned memory, so that main can look at the end. A server's KV is in device memory.
struct Step {
  explicit Step(kvpage::Carver carver) {
    arrays.kv = carver.Take<uint64_t>((kBlocks + 1) * kBlockTokens);
    arrays.slots = carver.Take<int64_t>(kRows * kDraftTokens);
    arrays.table = carver.Take<int32_t>(kRows * kRowBlocks);
    arrays.lengths = carver.Take<int32_t>(kRows);
    arrays.accepted = carver.Take<int32_t>(kRows);
    arrays.total = carver.Take<int32_t>(kRows);
    arrays.misplaced = carver.Take<uint64_t>(1);
    rows = carver.Take<int32_t>(kRows);
    tokens = carver.Take<int32_t>(kRows);
    branches = carver.Take<int32_t>(kRows);
    statuses = carver.Take<OpStatus>(kRows);
    copies = carver.Take<BlockCopy>(kRows);
    prompt_slots = carver.Take<int64_t>(kRows * kPromptTokens);
    epoch = carver.Take<uint64_t>(1);
    bytes = carver.bytes();
  }

  DecodeArrays arrays;
  int32_t* rows;
  int32_t* tokens;
  int32_t* branches;  // all 0: each draft has one branch
  OpStatus* statuses;
  BlockCopy* copies;
  int64_t* prompt_slots;
  uint64_t* epoch;
  size_t bytes;
};

absl::Status Launched(cudaError_t error) {
  return error == cudaSuccess ? absl::OkStatus() : absl::InternalError(cudaGetErrorString(error));
}

// The steps of the graph, in order.
absl::Status Enqueue(kvpage::KvCache& cache, StreamRef stream, const Step& s) {
  const DecodeArrays& a = s.arrays;
  const kvpage::RowBatch rows = {.rows = s.rows, .num_rows = kRows, .statuses = s.statuses};
  const kvpage::Fence fence = {.epoch_word = s.epoch};
  kvpage::KvTensor kv;
  kv.data = a.kv;
  kv.block_stride = kBlockTokens * sizeof(uint64_t);
  kv.token_stride = sizeof(uint64_t);
  kv.head_bytes = sizeof(uint64_t);

  kvpage::ExportTableBatch table;
  table.batch = rows;
  table.table = a.table;
  table.width = kRowBlocks;
  table.lengths = a.lengths;

  absl::Status status = cache.ExportTable(stream, table);  // the lengths, for the drafting model
  status.Update(cache.BeginDraft(stream, {.batch = rows,
                                          .tokens = s.tokens,
                                          .slots = a.slots,
                                          .slot_capacity = kRows * kDraftTokens,
                                          .copies = s.copies}));
  status.Update(cache.CopyBlocks(stream, s.copies, kRows, absl::MakeConstSpan(&kv, 1)));
  status.Update(Launched(LaunchDraft(stream.get(), a)));
  table.branches = s.branches;
  status.Update(cache.ExportTable(stream, table));
  status.Update(Launched(LaunchVerify(stream.get(), a)));
  status.Update(cache.CommitDraft(stream, {.batch = rows, .tokens = a.accepted, .fence = fence}));
  status.Update(cache.SignalNext(stream, s.epoch));
  return status;
}

absl::Status Decode(kvpage::KvCache& cache, StreamRef stream, const Step& s) {
  for (int32_t row = 0; row < kRows; ++row) {
    s.rows[row] = row;
    s.tokens[row] = kPromptTokens;
  }
  *s.epoch = 1;
  absl::Status status =
      cache.Append(stream, {.batch = {.rows = s.rows, .num_rows = kRows, .statuses = s.statuses},
                            .tokens = s.tokens,
                            .slots = s.prompt_slots,
                            .slot_capacity = kRows * kPromptTokens});
  status.Update(cache.Synchronize(stream));
  if (!status.ok()) return status;
  for (int32_t row = 0; row < kRows; ++row) {
    for (int32_t p = 0; p < kPromptTokens; ++p) {
      s.arrays.kv[s.prompt_slots[row * kPromptTokens + p]] =
          KvOf(static_cast<uint64_t>(row), static_cast<uint64_t>(p));
    }
    s.tokens[row] = kDraftTokens;
  }

  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  status = Launched(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeGlobal));
  status.Update(Enqueue(cache, stream, s));
  status.Update(Launched(cudaStreamEndCapture(stream.get(), &graph)));
  if (status.ok()) status = Launched(cudaGraphInstantiate(&executable, graph, 0));
  for (int32_t step = 0; step < kSteps && status.ok(); ++step) {
    status = Launched(cudaGraphLaunch(executable, stream.get()));
  }
  status.Update(cache.Synchronize(stream));
  if (executable != nullptr) cudaGraphExecDestroy(executable);
  if (graph != nullptr) cudaGraphDestroy(graph);
  return status;
}

// Whether every row is as long as what was accepted adds up to. The exported lengths have the last
// draft in them.
bool Check(kvpage::KvCache& cache, StreamRef stream, const Step& s) {
  kvpage::ExportTableBatch table;
  table.batch = {.rows = s.rows, .num_rows = kRows, .statuses = s.statuses};
  table.table = s.arrays.table;
  table.width = kRowBlocks;
  table.lengths = s.arrays.lengths;
  if (!cache.ExportTable(stream, table).ok() || !cache.Synchronize(stream).ok()) return false;
  int64_t accepted = 0;
  uint64_t misplaced = *s.arrays.misplaced;
  bool ok = true;
  for (int32_t row = 0; row < kRows; ++row) {
    accepted += s.arrays.total[row];
    ok = ok && s.arrays.lengths[row] == kPromptTokens + s.arrays.total[row];
    for (int32_t p = 0; p < s.arrays.lengths[row]; ++p) {
      const int64_t block = s.arrays.table[row * kRowBlocks + p / kBlockTokens];
      misplaced += s.arrays.kv[block * kBlockTokens + p % kBlockTokens] !=
                   KvOf(static_cast<uint64_t>(row), static_cast<uint64_t>(p));
    }
  }
  std::printf("%d steps of %d rows: %d tokens drafted, %d accepted, %d misplaced\n", kSteps, kRows,
              kSteps * kRows * kDraftTokens, static_cast<int>(accepted),
              static_cast<int>(misplaced));
  const auto audit = cache.AuditNow(stream);
  return ok && misplaced == 0 && audit.ok() && audit->ok();
}

int Run(StreamRef stream) {
  auto cache = kvpage::CreateCudaKvCache(stream, {.num_blocks = kBlocks,
                                                  .block_tokens = kBlockTokens,
                                                  .max_sequences = kRows,
                                                  .max_blocks_per_sequence = kRowBlocks,
                                                  .max_draft_tokens = kDraftTokens});
  kvpage::CudaPinnedMemoryResource pinned;
  const size_t bytes = Step(kvpage::Carver(nullptr)).bytes;
  auto memory = kvpage::OwnedMemory::Allocate(pinned, bytes, kvpage::Carver::kAlignment);
  absl::Status status = cache.status();
  status.Update(memory.status());
  if (!status.ok()) {
    std::printf("%s\n", status.ToString().c_str());
    return absl::IsUnavailable(status) ? 77 : 1;
  }
  std::memset(memory->get(), 0, bytes);
  const Step step{kvpage::Carver(memory->get())};
  status = Decode(**cache, stream, step);
  if (!status.ok()) std::printf("%s\n", status.ToString().c_str());
  return status.ok() && Check(**cache, stream, step) ? 0 : 1;
}

}  // namespace

int main() {
  cudaStream_t stream = nullptr;
  if (cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess) {
    std::printf("there is no GPU\n");
    return 77;
  }
  const int result = Run(StreamRef(stream));
  cudaStreamDestroy(stream);
  return result;
}
