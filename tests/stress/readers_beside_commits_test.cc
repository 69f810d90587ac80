// SPDX-License-Identifier: Apache-2.0
//
// CPU threads that read rows and their KV, plain memory, beside a thread that commits drafts,
// truncates and closes rows under fences (tests/support/reader_step.h). ThreadSanitizer sees
// whether anybody writes where they read. The GPU runs the same as one graph beside a kernel that
// reads (tests/cuda/readers_beside_commits_test.cc).

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "kvpage/core/cpu_atomics.h"
#include "tests/support/backend.h"
#include "tests/support/random.h"
#include "tests/support/reader_run.h"
#include "tests/support/test_seed.h"

namespace kvpage::test {
namespace {

using StandIn = ReaderStandIn<CpuAtomics>;

void RunPartOnCpu(StreamRef, WriterPart part, const ReaderStep& step,
                  const PageTableStorage& table) {
  const StandIn stand_in(step, table);
  if (part == WriterPart::kPlan) stand_in.Plan();
  if (part == WriterPart::kFinish) stand_in.Finish();
  for (int32_t row = 0; row < step.num_rows; ++row) {
    if (part == WriterPart::kMark) stand_in.Mark(row);
    if (part == WriterPart::kShorten) stand_in.Shorten(row);
  }
  if (part != WriterPart::kAwait) return;
  for (int32_t reader = 0; reader < step.num_readers; ++reader) {
    for (uint32_t attempt = 0; !stand_in.HasMovedOn(reader); ++attempt) CpuAtomics::Pause(attempt);
  }
}

TEST(ReadersBesideCommits, FindWhatTheRowsHold) {
  constexpr int32_t kReaders = 2;
  const uint64_t steps = ScaledCount(60000);
  CacheDriver cpu = Drive<CpuBackend>(kReadOptions);
  ReaderRun run(cpu, kReaders, RunPartOnCpu);
  std::atomic<bool> stop = false;
  std::vector<std::thread> readers;
  for (int32_t reader = 0; reader < kReaders; ++reader) {
    readers.emplace_back([&run, &stop, reader] {
      const StandIn stand_in(run.step(), run.table());
      Random random(BaseSeed() + static_cast<uint64_t>(reader));
      StandIn::Seen seen;
      for (uint32_t i = 0; !stop.load(std::memory_order_relaxed); ++i) {
        stand_in.Read(reader, random.Below(kReadRows), seen);
        if (i % 16 == 0) std::this_thread::yield();  // the writer may be waiting for a core
      }
      stand_in.Report(seen);
    });
  }
  for (uint64_t i = 0; i < steps; ++i) run.EnqueueStep();
  stop = true;
  for (std::thread& reader : readers) reader.join();
  run.Check(steps);
}

}  // namespace
}  // namespace kvpage::test
