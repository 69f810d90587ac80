// SPDX-License-Identifier: Apache-2.0
//
// A thread for each row, or for each reader.

#include "kvpage/cuda/kvpage.cuh"
#include "tests/cuda/reader_launch.h"

namespace kvpage::test {
namespace {

using StandIn = ReaderStandIn<CudaAtomics>;

constexpr int64_t kMostAwaitedCycles = int64_t{1} << 32;  // two seconds or so
constexpr int64_t kMostReadCycles = int64_t{1} << 37;     // a minute or so

template <WriterPart kPart>
__global__ void RunPart(const __grid_constant__ ReaderStep step,
                        const __grid_constant__ PageTableStorage table) {
  const StandIn stand_in(step, table);
  const int32_t i = static_cast<int32_t>(threadIdx.x);
  if constexpr (kPart == WriterPart::kPlan) {
    if (i == 0) stand_in.Plan();
  } else if constexpr (kPart == WriterPart::kFinish) {
    if (i == 0) stand_in.Finish();
  } else if constexpr (kPart == WriterPart::kMark) {
    if (i < step.num_rows) stand_in.Mark(i);
  } else if constexpr (kPart == WriterPart::kShorten) {
    if (i < step.num_rows) stand_in.Shorten(i);
  } else {
    // Once it has given up, the test has failed: no need to wait in every step to come.
    if (i >= step.num_readers || CudaAtomics::LoadRelaxed(&step.counts[kGivenUp]) != 0) return;
    const int64_t begin = clock64();
    while (!stand_in.HasMovedOn(i)) {
      if (clock64() - begin > kMostAwaitedCycles) {
        CudaAtomics::AddRelaxed(&step.counts[kGivenUp], uint64_t{1});
        return;
      }
    }
    CudaAtomics::FenceAcqRel();  // for the kernels behind this one
  }
}

template <WriterPart kPart>
cudaError_t Launch(cudaStream_t stream, const ReaderStep& step, const PageTableStorage& table) {
  const int32_t threads = kPart == WriterPart::kAwait ? step.num_readers : 32;
  RunPart<kPart><<<1, static_cast<unsigned>(threads), 0, stream>>>(step, table);
  return cudaGetLastError();
}

__global__ void Read(const __grid_constant__ ReaderStep step,
                     const __grid_constant__ PageTableStorage table, const uint32_t* stop) {
  const StandIn stand_in(step, table);
  const int32_t reader = static_cast<int32_t>(blockIdx.x * blockDim.x + threadIdx.x);
  StandIn::Seen seen;
  uint64_t hash = static_cast<uint64_t>(reader);
  const int64_t begin = clock64();
  while (*static_cast<const volatile uint32_t*>(stop) == 0 && clock64() - begin < kMostReadCycles) {
    for (uint32_t i = 0; i < 16; ++i) {
      hash = MixBits(hash + 1);
      const auto row = static_cast<uint32_t>(hash % static_cast<uint64_t>(step.num_rows));
      stand_in.Read(reader, row, seen);
    }
  }
  stand_in.Report(seen);
}

}  // namespace

cudaError_t LaunchWriterPart(cudaStream_t stream, WriterPart part, const ReaderStep& step,
                             const PageTableStorage& table) {
  switch (part) {
    case WriterPart::kPlan:
      return Launch<WriterPart::kPlan>(stream, step, table);
    case WriterPart::kMark:
      return Launch<WriterPart::kMark>(stream, step, table);
    case WriterPart::kShorten:
      return Launch<WriterPart::kShorten>(stream, step, table);
    case WriterPart::kFinish:
      return Launch<WriterPart::kFinish>(stream, step, table);
    case WriterPart::kAwait:
      return Launch<WriterPart::kAwait>(stream, step, table);
  }
  return cudaErrorInvalidValue;
}

cudaError_t LaunchReaders(cudaStream_t stream, const ReaderStep& step,
                          const PageTableStorage& table, const uint32_t* stop) {
  Read<<<kReaderBlocks, kReaders / kReaderBlocks, 0, stream>>>(step, table, stop);
  return cudaGetLastError();
}

}  // namespace kvpage::test
