// SPDX-License-Identifier: Apache-2.0
//
// bench/naive/host_decode.h
//
// Speculative decode steps of a server whose host allocates the blocks, in two ways:
//
//   kWaits         each step the host waits for the accepted counts, so it knows every length
//   kReservesAhead the host launches a step before it knows the counts of the one before, and
//                  reserves for what they may be at most: two drafts behind what it knows
//
// The table lies in pinned memory and is uploaded, with one copy, in each step that takes a
// block.
// The lengths are kept on the device by the verify kernel, and on the host from the counts.

#ifndef KVPAGE_BENCH_NAIVE_HOST_DECODE_H_
#define KVPAGE_BENCH_NAIVE_HOST_DECODE_H_

#include <cuda_runtime_api.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <vector>

#include "bench/block_counts.h"
#include "bench/decode_kernels.h"
#include "bench/gpu_graph.h"
#include "bench/gpu_timer.h"
#include "bench/naive/host_tables.h"

namespace kvpage::bench {

// Zeroed host memory that copies need not stage.
class PinnedInts {
 public:
  explicit PinnedInts(size_t size) : size_(size) {
    void* memory = nullptr;
    CheckCuda(cudaMallocHost(&memory, size * sizeof(int32_t)));
    data_ = static_cast<int32_t*>(memory);
    for (size_t i = 0; i < size; ++i) data_[i] = 0;
  }
  ~PinnedInts() { CheckCuda(cudaFreeHost(data_)); }
  PinnedInts(const PinnedInts&) = delete;
  PinnedInts& operator=(const PinnedInts&) = delete;

  int32_t* get() const { return data_; }
  size_t bytes() const { return size_ * sizeof(int32_t); }

 private:
  size_t size_;
  int32_t* data_ = nullptr;
};

enum class HostWay { kWaits, kReservesAhead };

class HostDecode {
 public:
  HostDecode(const Stream& stream, int32_t rows, uint32_t model_clocks)
      : stream_(stream.get()),
        rows_(rows),
        model_clocks_(model_clocks),
        tables_(rows, kDecodeRowBlocks, kDecodeBlockTokens),
        host_lengths_(rows),
        buffers_{Buffer(rows), Buffer(rows)},
        table_(static_cast<uint64_t>(rows) * kDecodeRowBlocks),
        lengths_(rows),
        accepted_(rows),
        marks_((table_.size() + 1) * kDecodeBlockTokens),
        errors_(1) {}

  // kDecodeSteps steps from the start of the rows. Seconds as the host's clock has them.
  double Run(HostWay way) {
    const bool waits = way == HostWay::kWaits;
    const int32_t ahead = waits ? kDraftTokens : 2 * kDraftTokens;
    Restart(ahead);
    held_ = {};
    const auto begin = std::chrono::steady_clock::now();
    for (int32_t step = 0; step < kDecodeSteps; ++step) {
      Enqueue(step, ahead);
      if (waits) {
        CheckCuda(cudaStreamSynchronize(stream_));
        Learn(step);
      } else {
        CheckCuda(cudaEventRecord(buffers_[step % 2].done.get(), stream_));
        if (step > 0) AwaitAndLearn(step - 1);
      }
    }
    if (!waits) AwaitAndLearn(kDecodeSteps - 1);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    CheckCuda(cudaStreamSynchronize(stream_));
    return seconds.count();
  }
  // Whether the last run's lengths are these, on the host and on the device, and no mark was lost.
  bool IsAt(const std::vector<int32_t>& lengths) const {
    return host_lengths_ == lengths && lengths_.Download() == lengths && errors_.Download()[0] == 0;
  }
  // Of the last run, while a draft was open.
  const BlockCounts& held() const { return held_; }

  // The model alone, for rows at their start.
  DecodeStep Work() {
    Restart(kDraftTokens);
    DecodeStep work = Step(0);
    work.advance = false;
    return work;
  }

 private:
  class Event {
   public:
    Event() { CheckCuda(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming)); }
    ~Event() { CheckCuda(cudaEventDestroy(event_)); }
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;
    cudaEvent_t get() const { return event_; }

   private:
    cudaEvent_t event_ = nullptr;
  };
  // What the host and a step share. The next step but one has it again.
  struct Buffer {
    explicit Buffer(int32_t rows)
        : table(static_cast<size_t>(rows) * kDecodeRowBlocks), written(rows), counts(rows) {}
    PinnedInts table;
    std::vector<int32_t> written;  // see HostTables::Update
    PinnedInts counts;
    Event done;
  };

  DecodeStep Step(uint64_t number) const {
    return {.table = table_.get(),
            .lengths = lengths_.get(),
            .accepted = accepted_.get(),
            .marks = marks_.get(),
            .errors = errors_.get(),
            .num_rows = rows_,
            .advance = true,
            .model_clocks = model_clocks_,
            .step = number};
  }

  // Waits until the rows are at their start, and their table is on the device.
  void Restart(int32_t ahead) {
    tables_.CloseAll();
    for (int32_t row = 0; row < rows_; ++row) {
      host_lengths_[row] = StartTokens(row);
      tables_.Cover(row, host_lengths_[row] + ahead);
    }
    for (Buffer& buffer : buffers_) {
      buffer.written.assign(rows_, 0);
      tables_.Update(buffer.table.get(), buffer.written);
    }
    Upload(buffers_[0]);
    CheckCuda(cudaMemcpyAsync(lengths_.get(), host_lengths_.data(), rows_ * sizeof(int32_t),
                              cudaMemcpyHostToDevice, stream_));
    CheckCuda(cudaStreamSynchronize(stream_));
  }

  void Upload(const Buffer& buffer) {
    CheckCuda(cudaMemcpyAsync(table_.get(), buffer.table.get(), buffer.table.bytes(),
                              cudaMemcpyHostToDevice, stream_));
    uploaded_blocks_ = tables_.held_blocks();
  }

  void Enqueue(int32_t number, int32_t ahead) {
    Buffer& buffer = buffers_[number % 2];
    for (int32_t row = 0; row < rows_; ++row) tables_.Cover(row, host_lengths_[row] + ahead);
    held_.Add(tables_.held_blocks());
    if (tables_.held_blocks() != uploaded_blocks_) {
      tables_.Update(buffer.table.get(), buffer.written);
      Upload(buffer);
    }
    const DecodeStep step = Step(static_cast<uint64_t>(number));
    CheckCuda(LaunchModel(stream_, step));
    CheckCuda(cudaMemcpyAsync(buffer.counts.get(), accepted_.get(), buffer.counts.bytes(),
                              cudaMemcpyDeviceToHost, stream_));
  }

  void AwaitAndLearn(int32_t number) {
    CheckCuda(cudaEventSynchronize(buffers_[number % 2].done.get()));
    Learn(number);
  }
  void Learn(int32_t number) {
    const int32_t* const counts = buffers_[number % 2].counts.get();
    for (int32_t row = 0; row < rows_; ++row) host_lengths_[row] += counts[row];
  }

  cudaStream_t stream_;
  int32_t rows_;
  uint32_t model_clocks_;
  HostTables tables_;
  std::vector<int32_t> host_lengths_;
  std::array<Buffer, 2> buffers_;
  int64_t uploaded_blocks_ = 0;
  BlockCounts held_;
  DeviceArray<int32_t> table_;
  DeviceArray<int32_t> lengths_;
  DeviceArray<int32_t> accepted_;
  DeviceArray<uint32_t> marks_;
  DeviceArray<uint32_t> errors_;
};

}  // namespace kvpage::bench

#endif  // KVPAGE_BENCH_NAIVE_HOST_DECODE_H_
