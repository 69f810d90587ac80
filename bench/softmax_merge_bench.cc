// SPDX-License-Identifier: Apache-2.0
//
// Merges of attention states of 32 heads of 128, beside a copy that moves as many bytes.

#include <cmath>
#include <vector>

#include "bench/softmax_case.h"

namespace kvpage::bench {
namespace {

constexpr int32_t kHeads = 32;
constexpr int32_t kDim = 128;

// Reads and writes of the merge; a copy of half as many bytes moves as much.
void RunMerge(benchmark::State& state, const Enqueue& enqueue, int64_t bytes) {
  RunSoftmaxCase(state, enqueue, static_cast<double>(bytes), "of_copy", "m" + std::to_string(bytes),
                 [&](cudaStream_t stream) {
                   const SoftmaxArrays& arrays = SoftmaxArrays::Get();
                   CheckCuda(cudaMemcpyAsync(arrays.y(), arrays.x(), bytes / 2,
                                             cudaMemcpyDeviceToDevice, stream));
                 });
}

// All log-sum-exps are 0, so that the merged element is a mean: the largest error over a token.
double MeanError(Dtype dtype, int64_t states, int64_t stride) {
  const SoftmaxArrays& arrays = SoftmaxArrays::Get();
  const int64_t size = BytesOf(dtype);
  const auto read = [&](const char* from) {
    char bits[4] = {};
    CheckCuda(cudaMemcpy(bits, from, size, cudaMemcpyDeviceToHost));
    const uint32_t word = __builtin_bit_cast(uint32_t, bits);
    return __builtin_bit_cast(float, dtype == Dtype::kBf16 ? word << 16 : word);
  };
  double worst = 0;
  for (int64_t e = 0; e < kDim; e += 17) {
    double mean = 0;
    for (int64_t s = 0; s < states; ++s)
      mean += read(arrays.x() + (s * stride + e) * size) / states;
    worst = std::max(worst, std::abs(read(arrays.y() + e * size) - mean) / 8);
  }
  return worst;
}

void BM_SoftmaxMergePair(benchmark::State& state) {
  SoftmaxArrays& arrays = SoftmaxArrays::Get();
  const Dtype dtype = DtypeOf(state.range(0));
  const int64_t tokens = state.range(1);
  const bool in_place = state.range(2) != 0;
  const int64_t rows = tokens * kHeads;
  const int64_t bytes = rows * kDim * BytesOf(dtype);
  arrays.Fill(dtype, 2 * rows * kDim);
  float* const lse = arrays.floats() + 4096;
  CheckCuda(cudaMemset(lse, 0, 3 * rows * sizeof(float)));
  const ConstStates a = {arrays.x(), lse, {}};
  const States merged =
      in_place ? States{arrays.x(), lse, {}} : States{arrays.y(), lse + 2 * rows, {}};
  RunMerge(
      state,
      [&](cudaStream_t stream) {
        Check(MergePair(StreamRef(stream), {.a = a,
                                            .b = {arrays.x() + bytes, lse + rows, {}},
                                            .merged = merged,
                                            .in = dtype,
                                            .out = dtype,
                                            .tokens = tokens,
                                            .heads = kHeads,
                                            .dim = kDim}));
      },
      3 * bytes + 12 * rows);
  if (!in_place) state.counters["error"] = MeanError(dtype, 2, rows * kDim);
}

void BM_SoftmaxMergeStates(benchmark::State& state) {
  SoftmaxArrays& arrays = SoftmaxArrays::Get();
  const Dtype dtype = DtypeOf(state.range(0));
  const int64_t tokens = state.range(1);
  const int32_t k = static_cast<int32_t>(state.range(2));
  const bool csr = state.range(3) != 0;
  const int64_t rows = tokens * kHeads;
  arrays.Fill(dtype, rows * k * kDim);
  float* const lse = arrays.floats() + 65536;
  float* const merged_lse = arrays.floats() + (12 << 20);
  CheckCuda(cudaMemset(lse, 0, rows * k * sizeof(float)));
  std::vector<int32_t> indptr(tokens + 1);
  for (int64_t t = 0; t <= tokens; ++t) indptr[t] = static_cast<int32_t>(t * k);
  auto* const pointers = reinterpret_cast<int32_t*>(arrays.floats() + 4096);
  CheckCuda(cudaMemcpy(pointers, indptr.data(), indptr.size() * 4, cudaMemcpyHostToDevice));
  RunMerge(
      state,
      [&](cudaStream_t stream) {
        if (csr) {
          Check(MergeStates(StreamRef(stream), MergeStatesCsrArgs<int32_t>{.o = arrays.x(),
                                                                           .lse = lse,
                                                                           .indptr = pointers,
                                                                           .merged_o = arrays.y(),
                                                                           .merged_lse = merged_lse,
                                                                           .in = dtype,
                                                                           .out = dtype,
                                                                           .max_tokens = tokens,
                                                                           .heads = kHeads,
                                                                           .dim = kDim}));
        } else {
          Check(MergeStates(StreamRef(stream), MergeStatesArgs{.o = arrays.x(),
                                                               .lse = lse,
                                                               .k = k,
                                                               .merged_o = arrays.y(),
                                                               .merged_lse = merged_lse,
                                                               .in = dtype,
                                                               .out = dtype,
                                                               .tokens = tokens,
                                                               .heads = kHeads,
                                                               .dim = kDim}));
        }
      },
      (rows * kDim * BytesOf(dtype) + 4 * rows) * (k + 1));
  state.counters["error"] = MeanError(dtype, k, kHeads * kDim);
}

void Pairs(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"dtype", "tokens", "in_place"})->UseManualTime()->Iterations(15);
  for (const int64_t dtype : {kF32, kBf16}) {
    for (const int tokens : {256, 313, 8192}) bench->Args({dtype, tokens, 0});
    bench->Args({dtype, 8192, 1});
  }
}
void Lists(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"dtype", "tokens", "k", "csr"})->UseManualTime()->Iterations(15);
  for (const int csr : {0, 1}) {
    for (const int k : {16, 64}) bench->Args({kF32, 64, k, csr})->Args({kF32, 1, k, csr});
    bench->Args({kF32, 4096, 16, csr})->Args({kF32, 4096, 2, csr})->Args({kBf16, 4096, 2, csr});
  }
}

BENCHMARK(BM_SoftmaxMergePair)->Apply(Pairs);
BENCHMARK(BM_SoftmaxMergeStates)->Apply(Lists);

}  // namespace
}  // namespace kvpage::bench
