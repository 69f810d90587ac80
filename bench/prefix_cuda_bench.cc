// SPDX-License-Identifier: Apache-2.0
//
// Rows that share a prefix and are closed again, as nodes of a CUDA graph, beside two ways
// without kvpage: one atomic for each row and block and nothing else, which is less than the
// work, and one thread for each row and block that keeps the table too, as servers do.

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

constexpr int32_t kPairs = 16;  // of fork and close, in one graph
constexpr int32_t kBlockTokens = 16;
constexpr int32_t kPrefixBlocks = 64;
constexpr uint32_t kPoolBlocks = 1 << 20;

// Row 0 is the parent, with a prefix of kPrefixBlocks blocks; the others fork from it.
class SharingCache {
 public:
  SharingCache(const Stream& stream, int32_t rows, bool in_order)
      : stream_(stream),
        cache_(Create(stream, rows)),
        children_(Children(rows, in_order)),
        parents_(std::vector<int32_t>(rows, 0)),
        tokens_(std::vector<int32_t>(rows, kPrefixBlocks * kBlockTokens)),
        statuses_(std::vector<OpStatus>(rows, OpStatus::kInvalid)),
        batch_({.rows = children_.get(), .num_rows = rows, .statuses = statuses_.get()}) {
    const RowBatch parent = {.rows = parents_.get(), .num_rows = 1, .statuses = statuses_.get()};
    Check(cache_->Append(stream.ref(), {.batch = parent, .tokens = tokens_.get()}));
    Check(cache_->Synchronize(stream.ref()));
  }

  void ForkAndClose() {
    Check(cache_->Fork(stream_.ref(),
                       {.batch = batch_, .parents = parents_.get(), .tokens = tokens_.get()}));
    Check(cache_->Close(stream_.ref(), {.batch = batch_}));
  }
  bool AllOk() const {
    for (const OpStatus status : statuses_.Download()) {
      if (status != OpStatus::kOk) return false;
    }
    return true;
  }

 private:
  static std::vector<int32_t> Children(int32_t rows, bool in_order) {
    std::vector<int32_t> children = Numbers(rows, 1);
    // An odd stride visits each of a power of two of them once.
    for (int32_t i = 0; i < rows && !in_order; ++i) children[i] = 1 + i * 37 % rows;
    return children;
  }
  static std::unique_ptr<KvCache> Create(const Stream& stream, int32_t rows) {
    auto created =
        CreateCudaKvCache(stream.ref(), {.num_blocks = kPoolBlocks,
                                         .block_tokens = kBlockTokens,
                                         .max_sequences = static_cast<uint32_t>(rows) + 1,
                                         .max_blocks_per_sequence = kPrefixBlocks});
    Check(created.status());
    return *std::move(created);
  }

  const Stream& stream_;
  std::unique_ptr<KvCache> cache_;
  DeviceArray<int32_t> children_;
  DeviceArray<int32_t> parents_;
  DeviceArray<int32_t> tokens_;
  DeviceArray<OpStatus> statuses_;
  RowBatch batch_;
};

// The memory of a ServerTable whose parent holds the blocks 1 .. kPrefixBlocks.
class ServerMemory {
 public:
  explicit ServerMemory(int32_t rows)
      : entries_(Entries(rows)), references_(References()), last_(kPoolBlocks + 1) {
    table_ = {.entries = entries_.get(),
              .references = references_.get(),
              .last = last_.get(),
              .row_blocks = kPrefixBlocks,
              .num_rows = static_cast<uint32_t>(rows)};
  }
  const ServerTable& table() const { return table_; }
  // Whether everything that was shared has been given back, and the parent has what it had.
  bool IsAsAtFirst() const { return references_.Download() == References(); }

 private:
  static std::vector<uint32_t> Entries(int32_t rows) {
    std::vector<uint32_t> entries(static_cast<size_t>(rows + 1) * kPrefixBlocks);
    for (uint32_t i = 0; i < kPrefixBlocks; ++i) entries[i] = i + 1;
    return entries;
  }
  static std::vector<uint32_t> References() {
    std::vector<uint32_t> references(kPoolBlocks + 1);
    for (uint32_t i = 0; i < kPrefixBlocks; ++i) references[i + 1] = 1;
    return references;
  }

  DeviceArray<uint32_t> entries_;
  DeviceArray<uint32_t> references_;
  DeviceArray<uint32_t> last_;
  ServerTable table_;
};

// in_order: the children's numbers ascend. items_per_second counts references, both ways.
// over_counts_alone and over_server_way: how many times faster it is than the one and the other;
// *_us: the time of one fork and close of all rows, empty_us that of two nodes that do nothing,
// without which no way can do.
void BM_PrefixForkClose(benchmark::State& state) {
  const int32_t rows = static_cast<int32_t>(state.range(0));
  Stream stream;
  SharingCache cache(stream, rows, state.range(1) != 0);
  const ServerMemory memory(rows);
  const auto pairs = [&](auto enqueue_pair) {
    return [enqueue_pair] {
      for (int32_t i = 0; i < kPairs; ++i) enqueue_pair();
    };
  };
  Graph merged(stream, pairs([&] { cache.ForkAndClose(); }));
  Graph counts(stream, pairs([&] {
                 CheckCuda(LaunchCountPerEntry(stream.get(), memory.table(), 1));
                 CheckCuda(LaunchCountPerEntry(stream.get(), memory.table(), -1));
               }));
  Graph server(stream, pairs([&] {
                 CheckCuda(LaunchServerFork(stream.get(), memory.table()));
                 CheckCuda(LaunchServerClose(stream.get(), memory.table()));
               }));
  Graph empty(stream, pairs([&] {
                CheckCuda(LaunchEmpty(stream.get(), 256));
                CheckCuda(LaunchEmpty(stream.get(), 256));
              }));
  empty.Replay();  // warm up
  merged.Replay();
  counts.Replay();
  server.Replay();
  Samples samples;
  Samples empty_samples;
  Samples counts_samples;
  Samples server_samples;
  for (auto _ : state) {
    samples.Add(state, merged.Replay());
    empty_samples.Add(empty.Replay());
    counts_samples.Add(counts.Replay());
    server_samples.Add(server.Replay());
  }
  if (!cache.AllOk()) state.SkipWithError("a row was not closed");
  if (!memory.IsAsAtFirst()) state.SkipWithError("a reference was lost on the way of servers");
  const double seconds = samples.Median();
  state.counters["items_per_second"] = 2.0 * kPairs * rows * kPrefixBlocks / seconds;
  state.counters["time_us"] = seconds * 1e6 / kPairs;
  state.counters["empty_us"] = empty_samples.Median() * 1e6 / kPairs;
  state.counters["counts_alone_us"] = counts_samples.Median() * 1e6 / kPairs;
  state.counters["server_way_us"] = server_samples.Median() * 1e6 / kPairs;
  state.counters["over_counts_alone"] = counts_samples.Median() / seconds;
  state.counters["over_server_way"] = server_samples.Median() / seconds;
}

BENCHMARK(BM_PrefixForkClose)
    ->ArgNames({"rows", "in_order"})
    ->ArgsProduct({{64, 1024, 8192}, {1, 0}})
    ->Iterations(50)
    ->UseManualTime();

}  // namespace
}  // namespace kvpage::bench
