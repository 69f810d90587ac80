// SPDX-License-Identifier: Apache-2.0
//
// A kernel that reads rows and their KV all the time, beside a graph on another stream that opens
// drafts, commits, truncates and closes rows under fences (tests/support/reader_step.h), replayed
// thousands of times. The graph completes an epoch when every reader has begun to read anew.

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include "tests/cuda/captured_graph.h"
#include "tests/cuda/reader_launch.h"
#include "tests/support/cuda_backend.h"
#include "tests/support/reader_run.h"

namespace kvpage::test {
namespace {

void RunPartOnGpu(StreamRef stream, WriterPart part, const ReaderStep& step,
                  const PageTableStorage& table) {
  EXPECT_EQ(LaunchWriterPart(stream.get(), part, step, table), cudaSuccess);
}

// The readers, on a stream of their own, until they are stopped.
class ReadingKernel {
 public:
  ReadingKernel(const ReaderStep& step, const PageTableStorage& table)
      : stop_(*OwnedMemory::Allocate(*CudaBackend::Access().shared, sizeof(uint32_t),
                                     Carver::kAlignment)) {
    *stop() = 0;
    EXPECT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
    EXPECT_EQ(LaunchReaders(stream_, step, table, stop()), cudaSuccess);
  }
  ~ReadingKernel() {
    Stop();
    cudaStreamDestroy(stream_);
  }
  ReadingKernel(const ReadingKernel&) = delete;
  ReadingKernel& operator=(const ReadingKernel&) = delete;

  void Stop() {
    *const_cast<volatile uint32_t*>(stop()) = 1;
    EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  }

 private:
  uint32_t* stop() const { return static_cast<uint32_t*>(stop_.get()); }

  OwnedMemory stop_;
  cudaStream_t stream_ = nullptr;
};

TEST(ReadersBesideCommits, AKernelFindsWhatTheRowsHold) {
  CacheDriver gpu = Drive<CudaBackend>(kReadOptions);
  ReaderRun run(gpu, kReaders, RunPartOnGpu);
  CapturedGraph graph([&](StreamRef) { run.EnqueueStep(); });
  // Once without readers: what is loaded or allocated when it is first used may wait for the whole
  // GPU, and so for the readers.
  run.SetEnded(ReaderRun::kNotReading);
  graph.Replay();
  ASSERT_TRUE(gpu.cache().Synchronize(gpu.stream()).ok());
  run.SetEnded(0);
  constexpr uint64_t kSteps = 5000;
  ReadingKernel readers(run.step(), run.table());
  for (uint64_t i = 1; i < kSteps; ++i) graph.Replay();
  EXPECT_TRUE(gpu.cache().Synchronize(gpu.stream()).ok());
  readers.Stop();
  run.Check(kSteps);
}

}  // namespace
}  // namespace kvpage::test
