// SPDX-License-Identifier: Apache-2.0
//
// Softmax denominators: one sum in three ways of the library, the textbook's block reduction and
// CUB's, beside a pass that only reads. Not measured: zeroing a workspace once.

#include <cmath>
#include <thread>
#include <vector>

#include "bench/softmax_case.h"

namespace kvpage::bench {
namespace {

enum class Way {
  kAtomicPerElement,
  kWarpShuffle,
  kFixedOrder,
  kTextbookBlocks,
  kCub,
  kReadOnly,
  kCopy
};

// Of f32 and bf16, by all CPU threads.
double Reference(Dtype dtype, int64_t n, double max) {
  std::vector<char> x(static_cast<size_t>(n * BytesOf(dtype)));
  CheckCuda(cudaMemcpy(x.data(), SoftmaxArrays::Get().x(), x.size(), cudaMemcpyDeviceToHost));
  const auto value = [&](int64_t i) {
    uint32_t bits = 0;
    if (dtype == Dtype::kBf16) {
      bits = uint32_t{reinterpret_cast<const uint16_t*>(x.data())[i]} << 16;
    } else {
      bits = reinterpret_cast<const uint32_t*>(x.data())[i];
    }
    return __builtin_bit_cast(float, bits);
  };
  const int64_t workers = std::max(1u, std::thread::hardware_concurrency());
  std::vector<double> parts(workers);
  std::vector<std::thread> threads;
  for (int64_t w = 0; w < workers; ++w) {
    threads.emplace_back([&, w] {
      double sum = 0;
      for (int64_t i = n * w / workers; i < n * (w + 1) / workers; ++i)
        sum += std::exp(value(i) - max);
      parts[w] = sum;
    });
  }
  for (std::thread& thread : threads) thread.join();
  double sum = 0;
  for (const double part : parts) sum += part;
  return sum;
}

template <Way kWay>
void BM_SoftmaxDenominator(benchmark::State& state) {
  SoftmaxArrays& arrays = SoftmaxArrays::Get();
  const Dtype dtype = DtypeOf(state.range(0));
  const int64_t n = state.range(1);
  const bool given = state.range(2) != 0;
  const int64_t bytes = n * BytesOf(dtype);
  arrays.Fill(dtype, n);
  float* const given_max = arrays.floats();
  float* const result = given_max + 1;
  const float eight = 8;
  CheckCuda(cudaMemcpy(given_max, &eight, sizeof(eight), cudaMemcpyHostToDevice));
  const auto* const x = reinterpret_cast<const float*>(arrays.x());
  const auto enqueue = [&](cudaStream_t stream) {
    if constexpr (kWay == Way::kReadOnly) {
      ReadOnly(arrays.x(), bytes, stream);
    } else if constexpr (kWay == Way::kCopy) {
      CheckCuda(cudaMemcpyAsync(arrays.y(), arrays.x(), bytes, cudaMemcpyDeviceToDevice, stream));
    } else if constexpr (kWay == Way::kTextbookBlocks) {
      DenominatorByBlocks(x, eight, n, result + 1, stream);
    } else if constexpr (kWay == Way::kCub) {
      CubDenominator(x, eight, n, result + 1, stream);
    } else {
      constexpr auto kMethod = static_cast<DenominatorMethod>(kWay);
      Check(Denominator(StreamRef(stream),
                        {.x = arrays.x(),
                         .dtype = dtype,
                         .n = n,
                         .given_max = given ? given_max : nullptr,
                         .max = result,
                         .sum = result + 1,
                         .method = kMethod},
                        arrays.workspace()));
    }
  };
  RunSoftmaxCase(state, enqueue, static_cast<double>(bytes) * (kWay == Way::kCopy ? 2 : 1),
                 "of_read_only", std::to_string(bytes),
                 [&](cudaStream_t stream) { ReadOnly(arrays.x(), bytes, stream); });
  if (kWay >= Way::kReadOnly || dtype == Dtype::kE4m3 || dtype == Dtype::kF16) return;
  float got[2];
  CheckCuda(cudaMemcpy(got, result, sizeof(got), cudaMemcpyDeviceToHost));
  const double max = given || kWay >= Way::kTextbookBlocks ? 8 : got[0];
  const double want = Reference(dtype, n, max);
  state.counters["relative_error"] = std::abs(got[1] - want) / want;
}

void Ways(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"dtype", "n", "given_max"})->UseManualTime()->Iterations(15);
  for (const int n : {1 << 16, 1 << 20, 1 << 24, 1 << 28}) bench->Args({kF32, n, 0});
  for (const int64_t dtype : {kF16, kBf16, kE4m3}) bench->Args({dtype, 1 << 28, 0});
  for (const int n : {1 << 24, 1 << 28}) bench->Args({kF32, n, 1});
  bench->Args({kBf16, 1 << 28, 1});
}
void Floats(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"dtype", "n", "given_max"})->UseManualTime()->Iterations(15);
  for (const int n : {1 << 16, 1 << 20, 1 << 24, 1 << 28}) bench->Args({kF32, n, 1});
}
void Limits(benchmark::internal::Benchmark* bench) {
  Floats(bench);
  bench->Args({kBf16, 1 << 28, 1})->Args({kE4m3, 1 << 28, 1});
}
void Slow(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"dtype", "n", "given_max"})->UseManualTime()->Iterations(3);
  for (const int given : {0, 1}) bench->Args({kF32, 1 << 20, given})->Args({kF32, 1 << 24, given});
}

BENCHMARK_TEMPLATE(BM_SoftmaxDenominator, Way::kReadOnly)->Apply(Limits);
BENCHMARK_TEMPLATE(BM_SoftmaxDenominator, Way::kCopy)->Apply(Limits);
BENCHMARK_TEMPLATE(BM_SoftmaxDenominator, Way::kCub)->Apply(Floats);
BENCHMARK_TEMPLATE(BM_SoftmaxDenominator, Way::kAtomicPerElement)->Apply(Slow);
BENCHMARK_TEMPLATE(BM_SoftmaxDenominator, Way::kTextbookBlocks)->Apply(Floats);
BENCHMARK_TEMPLATE(BM_SoftmaxDenominator, Way::kWarpShuffle)->Apply(Ways);
BENCHMARK_TEMPLATE(BM_SoftmaxDenominator, Way::kFixedOrder)->Apply(Ways);

}  // namespace
}  // namespace kvpage::bench
