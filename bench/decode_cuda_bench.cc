// SPDX-License-Identifier: Apache-2.0
//
// Whole speculative decode steps, beside the two ways of servers whose host allocates the blocks
// (naive/host_decode.h): wait for the accepted counts in each step, or reserve for the most that
// they can be. The same stand-ins for the model in all three, so what differs is what it takes to
// keep the table. A model that takes some time hides what the host does during it; so there are
// steps with one and without.

#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"

#include "bench/block_counts.h"
#include "bench/decode_kernels.h"
#include "bench/gpu_graph.h"
#include "bench/naive/host_decode.h"
#include "bench/samples.h"
#include "kvpage/cuda/cuda_kv_cache.h"

namespace kvpage::bench {
namespace {

// A step is one captured graph, whose replays follow one another without the host.
class KvpageDecode {
 public:
  KvpageDecode(const Stream& stream, int32_t rows, uint32_t model_clocks)
      : stream_(stream),
        model_clocks_(model_clocks),
        num_blocks_(static_cast<uint32_t>(rows * kDecodeRowBlocks)),
        cache_(Create(stream, rows, num_blocks_)),
        row_numbers_(Numbers(rows)),
        start_(Starts(rows)),
        drafted_(std::vector<int32_t>(rows, kDraftTokens)),
        branches_(rows),
        statuses_(std::vector<OpStatus>(rows, OpStatus::kInvalid)),
        table_(num_blocks_),
        lengths_(rows),
        accepted_(rows),
        marks_((uint64_t{num_blocks_} + 1) * kDecodeBlockTokens),
        errors_(1),
        epoch_(std::vector<uint64_t>(1, 1)),
        report_(1),
        workspace_(num_blocks_),
        batch_({.rows = row_numbers_.get(), .num_rows = rows, .statuses = statuses_.get()}),
        step_(stream, [this] {
          EnqueueBegin();
          EnqueueEnd();
        }) {}

  // kDecodeSteps steps from the start of the rows. Seconds as the host's clock has them.
  double Run() {
    Restart();
    const auto begin = std::chrono::steady_clock::now();
    for (int32_t step = 0; step < kDecodeSteps; ++step) step_.Launch();
    CheckCuda(cudaStreamSynchronize(stream_.get()));
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    return seconds.count();
  }
  // The same, counting the blocks that nobody else can have: while the drafts are open all that
  // are not free, and behind the step, whose epoch has completed, those of the rows: the others
  // are due to whoever wants some. Whether every audit was good.
  bool RunAudited(BlockCounts& drafting, BlockCounts& between) {
    Restart();
    bool ok = true;
    for (int32_t step = 0; step < kDecodeSteps; ++step) {
      EnqueueBegin();
      AuditReport report = Audit();
      ok &= report.ok();
      drafting.Add(static_cast<int64_t>(report.owned_blocks + report.pending_blocks));
      EnqueueEnd();
      report = Audit();
      ok &= report.ok();
      between.Add(static_cast<int64_t>(report.owned_blocks));
    }
    return ok;
  }
  // Whether the lengths are these, and no mark was lost.
  bool IsAt(const std::vector<int32_t>& lengths) {
    EnqueueExport(nullptr);
    Check(cache_->Synchronize(stream_.ref()));
    return lengths_.Download() == lengths && errors_.Download()[0] == 0;
  }

 private:
  static std::unique_ptr<KvCache> Create(const Stream& stream, int32_t rows, uint32_t num_blocks) {
    auto created = CreateCudaKvCache(stream.ref(), {.num_blocks = num_blocks,
                                                    .block_tokens = kDecodeBlockTokens,
                                                    .max_sequences = static_cast<uint32_t>(rows),
                                                    .max_blocks_per_sequence = kDecodeRowBlocks,
                                                    .max_draft_tokens = kDraftTokens});
    Check(created.status());
    return *std::move(created);
  }
  static std::vector<int32_t> Starts(int32_t rows) {
    std::vector<int32_t> starts(rows);
    for (int32_t row = 0; row < rows; ++row) starts[row] = StartTokens(row);
    return starts;
  }

  // Waits until the rows are at their start.
  void Restart() {
    Check(cache_->Close(stream_.ref(), {.batch = batch_}));
    Check(cache_->Append(stream_.ref(), {.batch = batch_, .tokens = start_.get()}));
    Check(cache_->Synchronize(stream_.ref()));
  }

  void EnqueueExport(const int32_t* branches) {
    Check(cache_->ExportTable(stream_.ref(), {.batch = batch_,
                                              .branches = branches,
                                              .table = table_.get(),
                                              .width = kDecodeRowBlocks,
                                              .lengths = lengths_.get()}));
  }
  void EnqueueBegin() {
    Check(cache_->BeginDraft(stream_.ref(), {.batch = batch_, .tokens = drafted_.get()}));
    EnqueueExport(branches_.get());
    const DecodeStep step = {.table = table_.get(),
                             .lengths = lengths_.get(),
                             .accepted = accepted_.get(),
                             .marks = marks_.get(),
                             .errors = errors_.get(),
                             .num_rows = batch_.num_rows,
                             .with_draft = true,
                             .model_clocks = model_clocks_,
                             .epoch_word = epoch_.get()};
    CheckCuda(LaunchModel(stream_.get(), step));
  }
  void EnqueueEnd() {
    Check(cache_->CommitDraft(
        stream_.ref(),
        {.batch = batch_, .tokens = accepted_.get(), .fence = {.epoch_word = epoch_.get()}}));
    Check(cache_->SignalNext(stream_.ref(), epoch_.get()));
  }

  AuditReport Audit() {
    Check(cache_->Audit(stream_.ref(), report_.get(),
                        absl::MakeSpan(workspace_.get(), workspace_.size())));
    Check(cache_->Synchronize(stream_.ref()));
    return report_.Download()[0];
  }

  const Stream& stream_;
  uint32_t model_clocks_;
  uint32_t num_blocks_;
  std::unique_ptr<KvCache> cache_;
  DeviceArray<int32_t> row_numbers_;
  DeviceArray<int32_t> start_;
  DeviceArray<int32_t> drafted_;
  DeviceArray<int32_t> branches_;  // all 0
  DeviceArray<OpStatus> statuses_;
  DeviceArray<int32_t> table_;
  DeviceArray<int32_t> lengths_;
  DeviceArray<int32_t> accepted_;
  DeviceArray<uint32_t> marks_;
  DeviceArray<uint32_t> errors_;
  DeviceArray<uint64_t> epoch_;
  DeviceArray<AuditReport> report_;
  DeviceArray<uint32_t> workspace_;
  RowBatch batch_;
  Graph step_;
};

// What every way has to come to: the lengths behind the last step. `needed`: the blocks of the
// committed tokens when a step begins.
std::vector<int32_t> LastLengths(int32_t rows, BlockCounts& needed) {
  std::vector<int32_t> lengths(rows);
  for (int32_t row = 0; row < rows; ++row) lengths[row] = StartTokens(row);
  for (int32_t step = 0; step < kDecodeSteps; ++step) {
    int64_t blocks = 0;
    for (int32_t row = 0; row < rows; ++row) {
      blocks += (lengths[row] + kDecodeBlockTokens - 1) / kDecodeBlockTokens;
      lengths[row] += AcceptedTokens(row, static_cast<uint64_t>(step));
    }
    needed.Add(blocks);
  }
  return lengths;
}

// One iteration is kDecodeSteps steps of each way, from the same start.
void BM_DecodeStep(benchmark::State& state) {
  const int32_t rows = static_cast<int32_t>(state.range(0));
  const uint32_t model_clocks = static_cast<uint32_t>(state.range(1));
  Stream stream;
  KvpageDecode kvpage(stream, rows, model_clocks);
  HostDecode host(stream, rows, model_clocks);
  BlockCounts needed, drafting, between, waits_held, ahead_held;
  const std::vector<int32_t> lengths = LastLengths(rows, needed);
  Samples times, waits, ahead;
  bool right = kvpage.RunAudited(drafting, between) && kvpage.IsAt(lengths);

  const auto round = [&](bool counts) {
    const double seconds = kvpage.Run();
    right &= kvpage.IsAt(lengths);
    const double waits_seconds = host.Run(HostWay::kWaits);
    right &= host.IsAt(lengths);
    waits_held = host.held();
    const double ahead_seconds = host.Run(HostWay::kReservesAhead);
    right &= host.IsAt(lengths);
    ahead_held = host.held();
    if (!counts) return;
    times.Add(state, seconds);
    waits.Add(waits_seconds);
    ahead.Add(ahead_seconds);
  };
  round(false);  // warm up
  for (auto _ : state) round(true);
  if (!right) state.SkipWithError("a way lost a block, or came to other lengths");

  const DecodeStep work = host.Work();
  Graph works(stream, [&] {
    for (int32_t step = 0; step < kDecodeSteps; ++step) {
      CheckCuda(LaunchModel(stream.get(), work));
    }
  });
  const double work_seconds = MedianOf(1, 5, [&] { return works.Replay(); });

  const double us = 1e6 / kDecodeSteps;
  state.counters["items_per_second"] = 1.0 * kDecodeSteps * rows / times.Median();
  state.counters["work_us"] = work_seconds * us;
  state.counters["step_us"] = times.Median() * us;
  state.counters["waits_us"] = waits.Median() * us;
  state.counters["ahead_us"] = ahead.Median() * us;
  state.counters["over_waits"] = waits.Median() / times.Median();
  state.counters["over_ahead"] = ahead.Median() / times.Median();
  state.counters["needed"] = needed.Average();
  state.counters["needed_peak"] = needed.Peak();
  state.counters["held"] = drafting.Average();
  state.counters["held_peak"] = drafting.Peak();
  state.counters["held_between"] = between.Average();
  state.counters["waits_held"] = waits_held.Average();
  state.counters["waits_held_peak"] = waits_held.Peak();
  state.counters["ahead_held"] = ahead_held.Average();
  state.counters["ahead_held_peak"] = ahead_held.Peak();
}

BENCHMARK(BM_DecodeStep)
    ->ArgNames({"rows", "model_clocks"})
    ->ArgsProduct({{32, 256, 1024}, {0, 400000}})
    ->Iterations(10)
    ->UseManualTime();

}  // namespace
}  // namespace kvpage::bench
