// SPDX-License-Identifier: Apache-2.0
//
// bench/softmax_case.h
//
// What the softmax benchmarks share: one set of large arrays, the kernels beside which they are
// measured, and two times of each call: alone with other data in the L2, and as a node of a graph
// of its like, where the launch is hidden and the L2 is as the node before left it.

#ifndef KVPAGE_BENCH_SOFTMAX_CASE_H_
#define KVPAGE_BENCH_SOFTMAX_CASE_H_

#include <benchmark/benchmark.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "bench/gpu_graph.h"
#include "bench/gpu_timer.h"
#include "bench/samples.h"
#include "kvpage/core/softmax_types.h"
#include "kvpage/cuda/softmax.h"

namespace kvpage::bench {

// softmax_baselines.cu
void FillLogits(char* x, Dtype dtype, int64_t n, cudaStream_t stream);  // in [-8, 8)
void ReadOnly(const char* x, int64_t bytes, cudaStream_t stream);
// The form of the textbook: a thread for each float, one atomic for 256. n: a multiple of 256.
void DenominatorByBlocks(const float* x, float max, int64_t n, float* sum, cudaStream_t stream);
void CubDenominator(const float* x, float max, int64_t n, float* sum, cudaStream_t stream);

class SoftmaxArrays {
 public:
  static constexpr size_t kBytes = size_t{5} << 29;  // of x and of y: 2.5 GiB

  static SoftmaxArrays& Get() {
    static SoftmaxArrays& arrays = *new SoftmaxArrays;
    return arrays;
  }
  char* x() const { return x_.get(); }
  char* y() const { return y_.get(); }
  float* floats() const { return reinterpret_cast<float*>(floats_.get()); }  // 64 MiB, zero
  Workspace workspace() const { return {workspace_.get(), workspace_.size()}; }
  const Stream& stream() const { return stream_; }

  void Fill(Dtype dtype, int64_t n) {
    FillLogits(x(), dtype, n, stream_.get());
    CheckCuda(cudaStreamSynchronize(stream_.get()));
  }
  // By reading: dirty lines would be written back while the next kernel runs.
  void CoolDown() const {
    ReadOnly(cold_.get(), static_cast<int64_t>(cold_.size()), stream_.get());
  }

 private:
  SoftmaxArrays()
      : x_(kBytes), y_(kBytes), floats_(1 << 26), workspace_(1 << 22), cold_(120 << 20) {}

  DeviceArray<char> x_;
  DeviceArray<char> y_;
  DeviceArray<char> floats_;
  DeviceArray<char> workspace_;
  DeviceArray<char> cold_;
  Stream stream_;
};

using Enqueue = std::function<void(cudaStream_t)>;

// The time of one call with other data in the L2.
inline double ColdSeconds(const Enqueue& enqueue) {
  static GpuTimer& timer = *new GpuTimer(SoftmaxArrays::Get().stream().get());
  const SoftmaxArrays& arrays = SoftmaxArrays::Get();
  arrays.CoolDown();
  return timer.Seconds([&] { enqueue(arrays.stream().get()); });
}

inline double ColdMedian(const Enqueue& enqueue) {
  return MedianOf(2, 11, [&] { return ColdSeconds(enqueue); });
}

inline double NodeSeconds(const Enqueue& enqueue) {
  constexpr int kNodes = 16;
  const Stream& stream = SoftmaxArrays::Get().stream();
  Graph graph(stream, [&] {
    for (int i = 0; i < kNodes; ++i) enqueue(stream.get());
  });
  return MedianOf(1, 5, [&] { return graph.Replay(); }) / kNodes;
}

// Runs the benchmark: its time, its bytes in that time, and what part of a baseline's time it
// takes. The baseline is measured once for each key.
inline void RunSoftmaxCase(benchmark::State& state, const Enqueue& enqueue, double bytes,
                           const char* of_baseline, const std::string& key,
                           const Enqueue& baseline) {
  static std::map<std::string, double>& baselines = *new std::map<std::string, double>;
  double& baseline_seconds = baselines[of_baseline + key];
  if (baseline_seconds == 0) baseline_seconds = ColdMedian(baseline);
  enqueue(SoftmaxArrays::Get().stream().get());  // warm up
  Samples samples;
  for (auto _ : state) samples.Add(state, ColdSeconds(enqueue));
  const double seconds = samples.Median();
  state.counters["time_us"] = seconds * 1e6;
  state.counters["bytes_per_second"] = bytes / seconds;
  state.counters[of_baseline] = baseline_seconds / seconds;
  state.counters["node_us"] = NodeSeconds(enqueue) * 1e6;
}

constexpr int64_t kF32 = 0, kF16 = 1, kBf16 = 2, kE4m3 = 3;  // arguments named dtype
inline Dtype DtypeOf(int64_t argument) { return static_cast<Dtype>(argument); }

}  // namespace kvpage::bench

#endif  // KVPAGE_BENCH_SOFTMAX_CASE_H_
