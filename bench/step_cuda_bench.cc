// SPDX-License-Identifier: Apache-2.0
//
// A step of a server as a node of a CUDA graph. A graph holds many nodes of a kind one after
// another; its replay time divided by their number is the time of one, and the same graph of
// empty kernels tells how much of that any node costs. prefix_cuda_bench.cc, in the same program,
// has rows that share a prefix. Not measured: launches outside a graph, and a GPU that has other
// work.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "bench/gpu_graph.h"
#include "bench/samples.h"
#include "bench/step_kernels.h"
#include "kvpage/cuda/cuda_kv_cache.h"

namespace kvpage::bench {
namespace {

constexpr int32_t kNodes = 64;
constexpr int32_t kBlockTokens = 16;

// Of graphs of kNodes nodes each.
void ReportNodes(benchmark::State& state, const Samples& steps, const Samples& empty) {
  const double per_node = 1e6 / kNodes;
  state.counters["time_us"] = steps.Median() * per_node;
  state.counters["empty_us"] = empty.Median() * per_node;
  state.counters["over_empty_us"] = (steps.Median() - empty.Median()) * per_node;
}

// A step: one token more for each of `rows` rows, their slots, their statuses. The rows' lengths
// are staggered, so that each step takes a block for one row in kBlockTokens. One iteration is a
// graph of kNodes steps; time_us is one of them.
void BM_StepAppendOne(benchmark::State& state) {
  const int32_t rows = static_cast<int32_t>(state.range(0));
  const uint32_t num_blocks = static_cast<uint32_t>(state.range(1));
  Stream stream;
  auto created =
      CreateCudaKvCache(stream.ref(), {.num_blocks = num_blocks,
                                       .block_tokens = kBlockTokens,
                                       .max_sequences = static_cast<uint32_t>(rows),
                                       .max_blocks_per_sequence = kNodes / kBlockTokens + 2});
  Check(created.status());
  const std::unique_ptr<KvCache> cache = *std::move(created);

  std::vector<int32_t> stagger(rows);
  for (int32_t i = 0; i < rows; ++i) stagger[i] = i % kBlockTokens + 1;
  const DeviceArray<int32_t> row_numbers(Numbers(rows));
  const DeviceArray<int32_t> start(stagger);
  const DeviceArray<int32_t> ones(std::vector<int32_t>(rows, 1));
  const DeviceArray<OpStatus> statuses(std::vector<OpStatus>(rows, OpStatus::kInvalid));
  const DeviceArray<int64_t> slots(std::vector<int64_t>(rows, -1));
  const RowBatch batch = {.rows = row_numbers.get(), .num_rows = rows, .statuses = statuses.get()};

  Check(cache->Append(stream.ref(), {.batch = batch, .tokens = start.get()}));
  Check(cache->Synchronize(stream.ref()));
  Graph steps(stream, [&] {
    for (int32_t i = 0; i < kNodes; ++i) {
      Check(cache->Append(
          stream.ref(),
          {.batch = batch, .tokens = ones.get(), .slots = slots.get(), .slot_capacity = rows}));
    }
  });
  const uint32_t threads = rows < 64 ? 64 : (rows > 1024 ? 1024 : (rows + 31) / 32 * 32);
  Graph empty(stream, [&] {
    for (int32_t i = 0; i < kNodes; ++i) CheckCuda(LaunchEmpty(stream.get(), threads));
  });
  const auto back_to_start = [&] {
    Check(cache->Truncate(stream.ref(), {.batch = batch, .tokens = start.get()}));
  };

  steps.Replay();  // warm up
  back_to_start();
  empty.Replay();
  Samples samples;
  Samples empty_samples;
  for (auto _ : state) {
    samples.Add(state, steps.Replay());
    back_to_start();
    empty_samples.Add(empty.Replay());
  }
  steps.Replay();
  for (const OpStatus status : statuses.Download()) {
    if (status != OpStatus::kOk) state.SkipWithError("a row was not appended to");
  }
  ReportNodes(state, samples, empty_samples);
  state.counters["items_per_second"] = 1.0 * kNodes * rows / samples.Median();
}

void Steps(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"rows", "num_blocks"})->Iterations(50)->UseManualTime();
  for (const int rows : {1, 32, 256, 1024, 4096, 8192}) bench->Args({rows, 1 << 20});
  for (const int num_blocks : {1 << 14, 1 << 24}) bench->Args({256, num_blocks});
}

BENCHMARK(BM_StepAppendOne)->Apply(Steps);

}  // namespace
}  // namespace kvpage::bench
