// SPDX-License-Identifier: Apache-2.0
//
// profile_kernels [--list] [--runs N]
//
// Runs each kernel of the contention laboratory N times, for a profiler to look at, and measures
// nothing itself: tools/profile/profile_kernels.py runs it under Nsight Compute. --list prints the
// names of the kernels as its report has them.

#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "bench/atomic_kernels.cuh"
#include "bench/denominator_kernels.cuh"
#include "bench/gpu_timer.h"
#include "bench/profile_pool.cuh"
#include "bench/profile_rows.cuh"

namespace kvpage::bench {
namespace {

constexpr int kDefaultRuns = 3;
constexpr uint64_t kElements = 1 << 24;

void RunNaive(int runs) {
  using namespace profile;  // NOLINT: the kernels' names as in the list
  const DeviceArray<uint32_t> next(1);
  const DeviceArray<uint32_t> zeros(kThreads);
  const DeviceArray<BlockId> ids(kTakers);
  for (int run = 0; run < runs; ++run) {
    NaiveAlloc<<<kTakers / kThreads, kThreads>>>(next.get(), ids.get());
    NaiveAllocByLane<<<kTakers / kThreads, kThreads>>>(next.get(), zeros.get(), ids.get());
  }
}

void CheckServed(bool served) {
  if (served) return;
  std::fprintf(stderr, "a pool or a table did not do what it should have\n");
  std::exit(1);
}

template <class Tag>
void RunPool(int runs) {
  const profile::Pool<Tag> pool;
  for (int run = 0; run < runs; ++run) {
    pool.Reset();
    pool.Alloc();
    pool.Release();
    pool.Churn();
  }
  CheckServed(pool.AllServed());
}

template <class Tag>
void RunPrefix(int runs) {
  const profile::Pool<Tag> pool;
  for (int run = 0; run < runs; ++run) {
    pool.Reset();
    pool.TakePrefixBlocks();
    pool.Share();
  }
  CheckServed(pool.AllServed());
}

template <class Tag>
void RunCommits(int runs) {
  const profile::Rows<Tag> rows;
  for (int run = 0; run < runs; ++run) {
    rows.Reset();
    rows.BeginDrafts();
    rows.Commit();
  }
  CheckServed(rows.AllServed());
}

void RunDenominators(int runs) {
  using namespace denominator;  // NOLINT: the kernels' names as in the list
  const DeviceArray<float> x(kElements);
  const DeviceArray<float> z(1);
  const DeviceArray<FixedScratch> scratch(1);
  constexpr uint32_t kOneEach = kElements / kThreads;
  FillInput<<<kFixedGrid, kThreads>>>(x.get(), kElements);
  for (int run = 0; run < runs; ++run) {
    ReadPass<<<kFixedGrid, kThreads>>>(x.get(), kElements, z.get());
    DenominatorNaive<<<kOneEach, kThreads>>>(x.get(), kMaximum, z.get());
    DenominatorBlock<<<kOneEach, kThreads>>>(x.get(), kMaximum, z.get());
    DenominatorStride<<<kFixedGrid, kThreads>>>(x.get(), kMaximum, kElements, z.get());
    DenominatorFixed<<<kFixedGrid, kThreads>>>(x.get(), kMaximum, kElements, scratch.get(),
                                               z.get());
  }
}

void RunAtomics(int runs) {
  using namespace atomics;  // NOLINT: the kernels' names as in the list
  const DeviceArray<uint32_t> words(kWords);
  constexpr uint32_t kGrid = (1 << 19) / kThreads;
  for (int run = 0; run < runs; ++run) {
    AddApart<4><<<kGrid, kThreads>>>(words.get());
    AddApart<32><<<kGrid, kThreads>>>(words.get());
    AddApart<256><<<kGrid, kThreads>>>(words.get());
    AddApart<4096><<<kGrid, kThreads>>>(words.get());
    AddAcqRel<256><<<kGrid, kThreads>>>(words.get());
    AddKept<<<kGrid, kThreads>>>(words.get());
    AddDropped<<<kGrid, kThreads>>>(words.get());
    TicketEach<<<kGrid, kThreads>>>(words.get());
    TicketMatched<<<kGrid, kThreads>>>(words.get());
    CountEach<<<kGrid, kThreads>>>(words.get());
    CountShared<<<kGrid, kThreads>>>(words.get());
  }
}

struct Scene {
  void (*run)(int runs);
  const char* kernels;  // one a line
};

constexpr Scene kScenes[] = {
    {RunNaive, "NaiveAlloc\nNaiveAllocByLane\n"},
    {RunPool<profile::Contiguous>,
     "PoolAlloc<Contiguous>\nPoolRelease<Contiguous>\nPoolChurn<Contiguous>\n"},
    {RunPool<profile::GateInterleaved>,
     "PoolAlloc<GateInterleaved>\nPoolRelease<GateInterleaved>\nPoolChurn<GateInterleaved>\n"},
    {RunPool<profile::BlocksInterleaved>,
     "PoolAlloc<BlocksInterleaved>\nPoolRelease<BlocksInterleaved>\nPoolChurn<BlocksInterleaved>"
     "\n"},
    {RunPool<profile::Interleaved>,
     "PoolAlloc<Interleaved>\nPoolRelease<Interleaved>\nPoolChurn<Interleaved>\n"},
    {RunPrefix<profile::Contiguous>, "PrefixShare<Contiguous>\n"},
    {RunPrefix<profile::BlocksInterleaved>, "PrefixShare<BlocksInterleaved>\n"},
    {RunCommits<profile::Contiguous>, "CommitRows<Contiguous>\n"},
    {RunCommits<profile::SequencesInterleaved>, "CommitRows<SequencesInterleaved>\n"},
    {RunDenominators,
     "ReadPass\nDenominatorNaive\nDenominatorBlock\nDenominatorStride\nDenominatorFixed\n"},
    {RunAtomics,
     "AddApart<4>\nAddApart<32>\nAddApart<256>\nAddApart<4096>\nAddAcqRel<256>\n"
     "AddKept\nAddDropped\nTicketEach\nTicketMatched\nCountEach\nCountShared\n"},
};

int Usage() {
  std::fprintf(stderr, "usage: profile_kernels [--list] [--runs N]\n");
  return 2;
}

}  // namespace
}  // namespace kvpage::bench

int main(int argc, char** argv) {
  using namespace kvpage::bench;  // NOLINT: a program's main
  int runs = kDefaultRuns;
  bool list = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view arg = argv[i];
    if (arg == "--list") {
      list = true;
    } else if (arg == "--runs" && i + 1 < argc) {
      runs = std::atoi(argv[++i]);
    } else {
      return Usage();
    }
  }
  if (runs < 1) return Usage();
  if (list) {
    for (const Scene& scene : kScenes) std::fputs(scene.kernels, stdout);
    return 0;
  }
  int gpus = 0;
  if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus == 0) {
    std::fprintf(stderr, "no GPU, nothing to profile\n");
    return 1;
  }
  for (const Scene& scene : kScenes) {
    scene.run(runs);
    CheckCuda(cudaGetLastError());
    CheckCuda(cudaDeviceSynchronize());
  }
  return 0;
}
