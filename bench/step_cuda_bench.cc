// SPDX-License-Identifier: Apache-2.0
//
// The batch operations as nodes of a CUDA graph. A graph holds many nodes of a kind one after
// another; its replay time divided by their number is the time of one, and the same graph of empty
// kernels tells how much of that any node costs. Not measured: launches outside a graph, and a GPU
// that has other work.

#include <benchmark/benchmark.h>
#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "bench/gpu_timer.h"
#include "bench/step_kernels.h"
#include "kvpage/cuda/cuda_kv_cache.h"

namespace kvpage::bench {
namespace {

constexpr int32_t kNodes = 64;
constexpr int32_t kBlockTokens = 16;
constexpr int32_t kPrefixBlocks = 64;

void Check(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::abort();
}

class Stream {
 public:
  Stream() { CheckCuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~Stream() { CheckCuda(cudaStreamDestroy(stream_)); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  cudaStream_t get() const { return stream_; }
  StreamRef ref() const { return StreamRef(stream_); }

 private:
  cudaStream_t stream_ = nullptr;
};

// What `enqueue` puts on the stream, as a graph that can be replayed and timed.
class Graph {
 public:
  template <class Enqueue>
  Graph(const Stream& stream, Enqueue enqueue) : stream_(stream.get()), timer_(stream.get()) {
    cudaGraph_t graph = nullptr;
    CheckCuda(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    enqueue();
    CheckCuda(cudaStreamEndCapture(stream_, &graph));
    CheckCuda(cudaGraphInstantiate(&executable_, graph, 0));
    CheckCuda(cudaGraphDestroy(graph));
  }
  ~Graph() { CheckCuda(cudaGraphExecDestroy(executable_)); }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  // Replays it, waits, and answers the seconds it took on the GPU.
  double Replay() {
    return timer_.Seconds([&] { CheckCuda(cudaGraphLaunch(executable_, stream_)); });
  }

 private:
  cudaStream_t stream_;
  GpuTimer timer_;
  cudaGraphExec_t executable_ = nullptr;
};

std::vector<int32_t> Numbers(int32_t count, int32_t begin = 0) {
  std::vector<int32_t> numbers(count);
  for (int32_t i = 0; i < count; ++i) numbers[i] = begin + i;
  return numbers;
}

// `seconds` over all iterations, of kNodes nodes each; the empty graph is replayed as often.
void ReportNodes(benchmark::State& state, double seconds, double empty_seconds) {
  const double per_node = 1e6 / kNodes / static_cast<double>(state.iterations());
  state.counters["time_us"] = seconds * per_node;
  state.counters["empty_us"] = empty_seconds * per_node;
  state.counters["over_empty_us"] = (seconds - empty_seconds) * per_node;
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
  double seconds = 0;
  double empty_seconds = 0;
  for (auto _ : state) {
    const double now = steps.Replay();
    state.SetIterationTime(now);
    seconds += now;
    back_to_start();
    empty_seconds += empty.Replay();
  }
  steps.Replay();
  for (const OpStatus status : statuses.Download()) {
    if (status != OpStatus::kOk) state.SkipWithError("a row was not appended to");
  }
  ReportNodes(state, seconds, empty_seconds);
  state.SetItemsProcessed(state.iterations() * kNodes * rows);
}

// `rows` rows share a prefix of kPrefixBlocks blocks and are closed again, beside one atomic per
// row and block each way. references_per_second counts both ways; over_atomics is the ratio of
// times.
void BM_PrefixForkClose(benchmark::State& state) {
  const int32_t rows = static_cast<int32_t>(state.range(0));
  Stream stream;
  auto created = CreateCudaKvCache(stream.ref(), {.num_blocks = 1 << 20,
                                                  .block_tokens = kBlockTokens,
                                                  .max_sequences = static_cast<uint32_t>(rows) + 1,
                                                  .max_blocks_per_sequence = kPrefixBlocks});
  Check(created.status());
  const std::unique_ptr<KvCache> cache = *std::move(created);
  constexpr int32_t kPrefixTokens = kPrefixBlocks * kBlockTokens;
  const DeviceArray<int32_t> children(Numbers(rows, 1));
  const DeviceArray<int32_t> parents(std::vector<int32_t>(rows, 0));
  const DeviceArray<int32_t> tokens(std::vector<int32_t>(rows, kPrefixTokens));
  const DeviceArray<OpStatus> statuses(std::vector<OpStatus>(rows, OpStatus::kInvalid));
  const DeviceArray<uint32_t> counts(std::vector<uint32_t>(kPrefixBlocks, 0));
  const RowBatch batch = {.rows = children.get(), .num_rows = rows, .statuses = statuses.get()};
  Check(cache->Append(stream.ref(),
                      {.batch = {.rows = parents.get(), .num_rows = 1, .statuses = statuses.get()},
                       .tokens = tokens.get()}));
  Check(cache->Synchronize(stream.ref()));

  Graph merged(stream, [&] {
    Check(cache->Fork(stream.ref(),
                      {.batch = batch, .parents = parents.get(), .tokens = tokens.get()}));
    Check(cache->Close(stream.ref(), {.batch = batch}));
  });
  Graph atomics(stream, [&] {
    CheckCuda(LaunchAtomicPerRowAndBlock(stream.get(), counts.get(), kPrefixBlocks, rows, 1));
    CheckCuda(LaunchAtomicPerRowAndBlock(stream.get(), counts.get(), kPrefixBlocks, rows, -1));
  });
  merged.Replay();  // warm up
  atomics.Replay();
  double seconds = 0;
  double atomic_seconds = 0;
  for (auto _ : state) {
    const double now = merged.Replay();
    state.SetIterationTime(now);
    seconds += now;
    atomic_seconds += atomics.Replay();
  }
  for (const OpStatus status : statuses.Download()) {
    if (status != OpStatus::kOk) state.SkipWithError("a row was not closed");
  }
  state.SetItemsProcessed(state.iterations() * rows * kPrefixBlocks * 2);
  state.counters["over_atomics"] = atomic_seconds / seconds;
}

void Steps(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"rows", "num_blocks"})->UseManualTime();
  for (const int rows : {1, 32, 256, 1024, 4096, 8192}) bench->Args({rows, 1 << 20});
  for (const int num_blocks : {1 << 14, 1 << 24}) bench->Args({256, num_blocks});
}

BENCHMARK(BM_StepAppendOne)->Apply(Steps);
BENCHMARK(BM_PrefixForkClose)->ArgName("rows")->Arg(64)->Arg(1024)->UseManualTime();

}  // namespace
}  // namespace kvpage::bench
