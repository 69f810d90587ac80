// SPDX-License-Identifier: Apache-2.0
//
// bench/layout_compare.h
//
// One access pattern on words that lie contiguous or interleaved (kvpage/core/layout.h).

#ifndef KVPAGE_BENCH_LAYOUT_COMPARE_H_
#define KVPAGE_BENCH_LAYOUT_COMPARE_H_

#include <benchmark/benchmark.h>

#include "bench/samples.h"
#include "kvpage/core/layout.h"

namespace kvpage::bench {

inline Placement PlacementOf(int64_t argument) {
  return argument != 0 ? Placement::kInterleaved : Placement::kContiguous;
}

// Times seconds(placement), which moves so many items, beside seconds(Placement::kContiguous), in
// turn. over_contiguous: how many times faster it is.
template <class Seconds>
void CompareLayouts(benchmark::State& state, Placement placement, double items, Seconds seconds) {
  seconds(Placement::kContiguous);  // warm up
  seconds(placement);
  Samples contiguous;
  Samples samples;
  for (auto _ : state) {
    contiguous.Add(seconds(Placement::kContiguous));
    samples.Add(state, seconds(placement));
  }
  state.counters["items_per_second"] = items / samples.Median();
  state.counters["over_contiguous"] = contiguous.Median() / samples.Median();
}

}  // namespace kvpage::bench

#endif  // KVPAGE_BENCH_LAYOUT_COMPARE_H_
