// SPDX-License-Identifier: Apache-2.0
//
// Contention without an allocator: the denominator of a softmax over n floats, merged by one
// atomic per element, by a tree, and by a tree with a fixed order (denominator_kernels.cuh), with
// a pass that only reads, a copy, CUB's reduction and an empty kernel beside it. Every run begins
// with other data in the L2. Each counter is of the median run. Not measured: finding m, and
// zeroing the sum before a kernel that adds to it.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cub/device/device_reduce.cuh>
#include <cuda/std/functional>
#include <map>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "bench/denominator_kernels.cuh"
#include "bench/gpu_timer.h"

namespace kvpage::bench::denominator {
namespace {

constexpr int kRuns = 50;
constexpr int kBaselineRuns = 11;
constexpr uint64_t kLargestForNaive = 1 << 24;  // 2^28 would take half a second a run

enum class Way { kEmptyKernel, kReadPass, kCopy, kCub, kNaive, kBlock, kStride, kFixed };

constexpr bool GivesSum(Way way) { return way >= Way::kCub; }

// A running sum of 2^24 terms is large beside each of them and loses those below half its last
// place: some percent of it.
constexpr double Tolerance(Way way) { return way == Way::kNaive ? 0.1 : 1e-3; }

struct TermOf {
  float m;
  __device__ float operator()(float x) const { return Term(x, m); }
};

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

// The sum in double, by all CPU threads.
double Reference(const std::vector<float>& x) {
  const size_t workers = std::max(1u, std::thread::hardware_concurrency());
  std::vector<double> parts(workers);
  std::vector<std::thread> threads;
  for (size_t w = 0; w < workers; ++w) {
    threads.emplace_back([&x, &parts, w, workers] {
      double sum = 0;
      for (size_t i = x.size() * w / workers; i < x.size() * (w + 1) / workers; ++i) {
        sum += std::exp(static_cast<double>(x[i]) - kMaximum);
      }
      parts[w] = sum;
    });
  }
  for (std::thread& thread : threads) thread.join();
  double sum = 0;
  for (const double part : parts) sum += part;
  return sum;
}

// What puts other data into the L2. By reading: dirty lines would be written back while the next
// kernel runs.
class ColdCache {
 public:
  ColdCache() : size_(2 * L2Bytes() / sizeof(float) / kThreads * kThreads), words_(size_) {}
  void Enqueue() const { ReadPass<<<kFixedGrid, kThreads>>>(words_.get(), size_, words_.get()); }

 private:
  static uint64_t L2Bytes() {
    int bytes = 0;
    CheckCuda(cudaDeviceGetAttribute(&bytes, cudaDevAttrL2CacheSize, 0));
    return static_cast<uint64_t>(bytes);
  }

  uint64_t size_;
  DeviceArray<float> words_;
};

class Vector {
 public:
  explicit Vector(uint64_t n) : n_(n), x_(n), z_(1), scratch_(1) {
    FillInput<<<kFixedGrid, kThreads>>>(x_.get(), n);
    CheckCuda(cudaGetLastError());
    reference_ = Reference(x_.Download());
  }

  // The vector of n elements, made at the first call.
  static Vector& Of(uint64_t n) {
    static std::map<uint64_t, Vector>& all = *new std::map<uint64_t, Vector>;
    return all.try_emplace(n, n).first->second;
  }

  // Seconds of one run.
  template <Way kWay>
  double Run() {
    static const ColdCache& cold = *new ColdCache;
    CheckCuda(cudaMemsetAsync(z_.get(), 0, sizeof(float)));
    if (kWay == Way::kCopy) Reserve(copy_, n_ * sizeof(float));
    if (kWay == Way::kCub) Reserve(cub_, Cub(nullptr, 0));
    cold.Enqueue();
    return timer_.Seconds([&] { Enqueue<kWay>(); });
  }
  // The median of a few runs, measured once.
  template <Way kWay>
  double Baseline() {
    double& seconds = baselines_[kWay];
    if (seconds == 0) {
      std::vector<double> runs(kBaselineRuns);
      for (double& run : runs) run = Run<kWay>();
      seconds = Median(runs);
    }
    return seconds;
  }

  float result() const { return z_.Download()[0]; }
  double RelativeError() const { return std::abs(result() - reference_) / reference_; }

 private:
  template <Way kWay>
  void Enqueue() {
    const uint32_t one_each = static_cast<uint32_t>(n_ / kThreads);
    if constexpr (kWay == Way::kEmptyKernel) {
      Empty<<<1, kThreads>>>();
    } else if constexpr (kWay == Way::kReadPass) {
      ReadPass<<<kFixedGrid, kThreads>>>(x_.get(), n_, z_.get());
    } else if constexpr (kWay == Way::kCopy) {
      CheckCuda(
          cudaMemcpyAsync(copy_->get(), x_.get(), n_ * sizeof(float), cudaMemcpyDeviceToDevice));
    } else if constexpr (kWay == Way::kCub) {
      Cub(cub_->get(), cub_bytes_);
    } else if constexpr (kWay == Way::kNaive) {
      DenominatorNaive<<<one_each, kThreads>>>(x_.get(), kMaximum, z_.get());
    } else if constexpr (kWay == Way::kBlock) {
      DenominatorBlock<<<one_each, kThreads>>>(x_.get(), kMaximum, z_.get());
    } else if constexpr (kWay == Way::kStride) {
      DenominatorStride<<<kFixedGrid, kThreads>>>(x_.get(), kMaximum, n_, z_.get());
    } else {
      FixedScratch* const scratch = scratch_.get();
      DenominatorFixed<<<kFixedGrid, kThreads>>>(x_.get(), kMaximum, n_, scratch, z_.get());
    }
  }

  // With no memory it only says how much it wants.
  uint64_t Cub(void* memory, size_t bytes) {
    CheckCuda(cub::DeviceReduce::TransformReduce(memory, bytes, x_.get(), z_.get(),
                                                 static_cast<int64_t>(n_), ::cuda::std::plus<>{},
                                                 TermOf{kMaximum}, 0.0f));
    return cub_bytes_ = bytes;
  }
  static void Reserve(std::unique_ptr<DeviceArray<char>>& memory, uint64_t bytes) {
    if (memory == nullptr) memory = std::make_unique<DeviceArray<char>>(bytes);
  }

  uint64_t n_;
  DeviceArray<float> x_;
  DeviceArray<float> z_;
  DeviceArray<FixedScratch> scratch_;
  std::unique_ptr<DeviceArray<char>> copy_;
  std::unique_ptr<DeviceArray<char>> cub_;
  size_t cub_bytes_ = 0;
  double reference_;
  GpuTimer timer_;
  std::map<Way, double> baselines_;
};

template <Way kWay>
void BM_Denominator(benchmark::State& state) {
  const uint64_t n = static_cast<uint64_t>(state.range(0));
  Vector& vector = Vector::Of(n);
  vector.Run<kWay>();  // warm up
  std::vector<double> runs;
  std::set<float> results;
  double error = 0;
  for (auto _ : state) {
    runs.push_back(vector.Run<kWay>());
    state.SetIterationTime(runs.back());
    if (!GivesSum(kWay)) continue;
    results.insert(vector.result());
    error = std::max(error, vector.RelativeError());
  }
  const double seconds = Median(runs);
  state.counters["time_us"] = seconds * 1e6;
  if (kWay == Way::kEmptyKernel) return;
  const double bytes = static_cast<double>(n * sizeof(float)) * (kWay == Way::kCopy ? 2 : 1);
  state.counters["bytes_per_second"] = bytes / seconds;
  state.counters["of_read_pass"] = vector.Baseline<Way::kReadPass>() / seconds;
  if (!GivesSum(kWay)) return;
  if (!(error < Tolerance(kWay))) state.SkipWithError("a wrong sum");
  state.counters["relative_error"] = error;
  state.counters["distinct_results"] = static_cast<double>(results.size());
  if (n <= kLargestForNaive) {
    state.counters["over_naive"] = vector.Baseline<Way::kNaive>() / seconds;
  }
}

void Sizes(benchmark::internal::Benchmark* bench, int64_t largest) {
  bench->ArgName("n")->UseManualTime()->Iterations(kRuns);
  for (const int64_t n : {1 << 20, 1 << 24, 1 << 28}) {
    if (n <= largest) bench->Arg(n);
  }
}
void UpToNaive(benchmark::internal::Benchmark* bench) { Sizes(bench, kLargestForNaive); }
void All(benchmark::internal::Benchmark* bench) { Sizes(bench, 1 << 28); }
void OnlyOne(benchmark::internal::Benchmark* bench) { Sizes(bench, 1 << 20); }

BENCHMARK_TEMPLATE(BM_Denominator, Way::kEmptyKernel)->Apply(OnlyOne);
BENCHMARK_TEMPLATE(BM_Denominator, Way::kReadPass)->Apply(All);
BENCHMARK_TEMPLATE(BM_Denominator, Way::kCopy)->Apply(All);
BENCHMARK_TEMPLATE(BM_Denominator, Way::kCub)->Apply(All);
BENCHMARK_TEMPLATE(BM_Denominator, Way::kNaive)->Apply(UpToNaive);
BENCHMARK_TEMPLATE(BM_Denominator, Way::kBlock)->Apply(All);
BENCHMARK_TEMPLATE(BM_Denominator, Way::kStride)->Apply(All);
BENCHMARK_TEMPLATE(BM_Denominator, Way::kFixed)->Apply(All);

}  // namespace
}  // namespace kvpage::bench::denominator
