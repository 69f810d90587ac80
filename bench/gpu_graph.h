// SPDX-License-Identifier: Apache-2.0
//
// bench/gpu_graph.h
//
// A stream, and work captured from it as a graph whose replays are timed. An error ends the
// program.

#ifndef KVPAGE_BENCH_GPU_GRAPH_H_
#define KVPAGE_BENCH_GPU_GRAPH_H_

#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

#include "absl/status/status.h"

#include "bench/gpu_timer.h"
#include "kvpage/stream_ref.h"

namespace kvpage::bench {

inline void Check(const absl::Status& status) {
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

  // Replays it; does not wait.
  void Launch() { CheckCuda(cudaGraphLaunch(executable_, stream_)); }
  // Replays it, waits, and answers the seconds it took on the GPU.
  double Replay() {
    return timer_.Seconds([&] { Launch(); });
  }

 private:
  cudaStream_t stream_;
  GpuTimer timer_;
  cudaGraphExec_t executable_ = nullptr;
};

// begin, begin + 1, ...
inline std::vector<int32_t> Numbers(int32_t count, int32_t begin = 0) {
  std::vector<int32_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), begin);
  return numbers;
}

}  // namespace kvpage::bench

#endif  // KVPAGE_BENCH_GPU_GRAPH_H_
