// SPDX-License-Identifier: Apache-2.0
//
// bench/samples.h
//
// The times of one benchmark's iterations. Rates are told from the median, which one late
// interrupt does not move; the benchmark library's own time column is the mean.

#ifndef KVPAGE_BENCH_SAMPLES_H_
#define KVPAGE_BENCH_SAMPLES_H_

#include <benchmark/benchmark.h>

#include <algorithm>
#include <vector>

namespace kvpage::bench {

class Samples {
 public:
  void Add(double seconds) { seconds_.push_back(seconds); }
  // The same, as the time of the iteration under way.
  void Add(benchmark::State& state, double seconds) {
    Add(seconds);
    state.SetIterationTime(seconds);
  }

  // 0 if there are none.
  double Median() const {
    if (seconds_.empty()) return 0;
    std::vector<double> sorted = seconds_;
    const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
    std::nth_element(sorted.begin(), middle, sorted.end());
    return *middle;
  }

 private:
  std::vector<double> seconds_;
};

// The median of `count` calls of seconds(), after `warm_up` more.
template <class Seconds>
double MedianOf(int warm_up, int count, Seconds seconds) {
  Samples samples;
  for (int i = 0; i < warm_up; ++i) seconds();
  for (int i = 0; i < count; ++i) samples.Add(seconds());
  return samples.Median();
}

}  // namespace kvpage::bench

#endif  // KVPAGE_BENCH_SAMPLES_H_
