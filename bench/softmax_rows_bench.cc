// SPDX-License-Identifier: Apache-2.0
//
// Softmax and log-sum-exp of rows, beside a copy of the same array.

#include <cmath>
#include <vector>

#include "bench/softmax_case.h"

namespace kvpage::bench {
namespace {

enum class Operation { kSoftmax, kLogSoftmax, kLogSumExp, kCopy };

float ValueOf(const std::vector<char>& array, Dtype dtype, int64_t i) {
  if (dtype == Dtype::kF32) return reinterpret_cast<const float*>(array.data())[i];
  const uint32_t bits = uint32_t{reinterpret_cast<const uint16_t*>(array.data())[i]} << 16;
  return __builtin_bit_cast(float, bits);
}

// The largest relative error of softmax in the first and the last row; of f32 and bf16.
double RowError(Dtype dtype, int64_t rows, int64_t cols) {
  const size_t bytes = static_cast<size_t>(cols * BytesOf(dtype));
  double worst = 0;
  for (const int64_t row : {int64_t{0}, rows - 1}) {
    std::vector<char> x(bytes), y(bytes);
    const SoftmaxArrays& arrays = SoftmaxArrays::Get();
    CheckCuda(cudaMemcpy(x.data(), arrays.x() + row * bytes, bytes, cudaMemcpyDeviceToHost));
    CheckCuda(cudaMemcpy(y.data(), arrays.y() + row * bytes, bytes, cudaMemcpyDeviceToHost));
    double max = -1e300, sum = 0;
    for (int64_t i = 0; i < cols; ++i) max = std::max<double>(max, ValueOf(x, dtype, i));
    for (int64_t i = 0; i < cols; ++i) sum += std::exp(ValueOf(x, dtype, i) - max);
    for (int64_t i = 0; i < cols; ++i) {
      const double want = std::exp(ValueOf(x, dtype, i) - max) / sum;
      worst = std::max(worst, std::abs(ValueOf(y, dtype, i) - want) / want);
    }
  }
  return worst;
}

template <Operation kOperation>
void BM_SoftmaxRows(benchmark::State& state) {
  SoftmaxArrays& arrays = SoftmaxArrays::Get();
  const Dtype dtype = DtypeOf(state.range(0));
  const int64_t rows = state.range(1);
  const int64_t cols = state.range(2);
  const int64_t bytes = rows * cols * BytesOf(dtype);
  arrays.Fill(dtype, rows * cols);
  const auto copy = [&](cudaStream_t stream) {
    CheckCuda(cudaMemcpyAsync(arrays.y(), arrays.x(), bytes, cudaMemcpyDeviceToDevice, stream));
  };
  const auto enqueue = [&](cudaStream_t stream) {
    const StreamRef ref(stream);
    const SoftmaxRowsArgs args = {
        .x = arrays.x(), .in = dtype, .y = arrays.y(), .out = dtype, .rows = rows, .cols = cols};
    if constexpr (kOperation == Operation::kCopy) {
      copy(stream);
    } else if constexpr (kOperation == Operation::kSoftmax) {
      Check(SoftmaxRows(ref, args, arrays.workspace()));
    } else if constexpr (kOperation == Operation::kLogSoftmax) {
      Check(LogSoftmaxRows(ref, args, arrays.workspace()));
    } else {
      Check(LogSumExpRows(
          ref,
          {.x = arrays.x(), .in = dtype, .lse = arrays.floats() + 1024, .rows = rows, .cols = cols},
          arrays.workspace()));
    }
  };
  if constexpr (kOperation == Operation::kLogSumExp) {
    RunSoftmaxCase(state, enqueue, static_cast<double>(bytes), "of_read_only",
                   std::to_string(bytes),
                   [&](cudaStream_t stream) { ReadOnly(arrays.x(), bytes, stream); });
  } else {
    RunSoftmaxCase(state, enqueue, 2.0 * static_cast<double>(bytes), "of_copy",
                   std::to_string(bytes), copy);
  }
  if (kOperation == Operation::kSoftmax)
    state.counters["relative_error"] = RowError(dtype, rows, cols);
}

void Shapes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"dtype", "rows", "cols"})->UseManualTime()->Iterations(15);
  for (const int64_t dtype : {kF32, kBf16}) {
    for (const auto& [rows, cols] : {std::pair<int, int>{1 << 20, 7},
                                     {1 << 20, 32},
                                     {65536, 128},
                                     {65536, 1024},
                                     {16384, 8192},
                                     {4096, 32768},
                                     {2048, 65536},
                                     {1024, 131072},
                                     {512, 262144},
                                     {128, 128256},
                                     {16, 1 << 20},
                                     {1, 128256},
                                     {1, 1 << 20},
                                     {1, 1 << 24}}) {
      bench->Args({dtype, rows, cols});
    }
  }
}
void FewShapes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"dtype", "rows", "cols"})->UseManualTime()->Iterations(15);
  for (const int64_t dtype : {kF32, kBf16}) {
    bench->Args({dtype, 65536, 1024})->Args({dtype, 4096, 32768});
  }
}

BENCHMARK_TEMPLATE(BM_SoftmaxRows, Operation::kCopy)->Apply(Shapes);
BENCHMARK_TEMPLATE(BM_SoftmaxRows, Operation::kSoftmax)->Apply(Shapes);
BENCHMARK_TEMPLATE(BM_SoftmaxRows, Operation::kLogSoftmax)->Apply(FewShapes);
BENCHMARK_TEMPLATE(BM_SoftmaxRows, Operation::kLogSumExp)->Apply(Shapes);

}  // namespace
}  // namespace kvpage::bench
