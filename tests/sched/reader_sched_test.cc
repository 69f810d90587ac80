// SPDX-License-Identifier: Apache-2.0
//
// Readers of rows and of their KV beside a group that commits drafts, truncates and closes rows
// under fences, under the seeded scheduler and a weak memory. What a reader finds is the row's, at
// the length and generation that it read, and nobody writes there while it reads: an epoch
// completes when every reader has begun anew behind its operation.
//
// KV is plain memory whose races fail the run. Between operations the writers meet and fence.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kvpage/core/release_step.h"
#include "tests/support/core_world.h"
#include "tests/support/random.h"
#include "tests/support/sched_atomics.h"
#include "tests/support/sched_data.h"
#include "tests/support/sched_warp.h"
#include "tests/support/scheduler.h"
#include "tests/support/test_seed.h"

namespace kvpage::test {
namespace {

using enum OpStatus;
using A = SchedAtomics;
using Marks = std::vector<uint64_t>;

constexpr uint32_t kRows = 2;
constexpr uint32_t kBlockTokens = 2;
constexpr uint32_t kBlocks = 11;  // few: what is let go is soon used again
constexpr int32_t kTokens = 3;
constexpr uint32_t kBranches = 2;
constexpr uint64_t kSteps = 8;
constexpr uint32_t kMostReaders = 2;
constexpr PageTableOptions kTable = {.max_sequences = kRows,
                                     .max_blocks_per_sequence = 5,
                                     .block_tokens = kBlockTokens,
                                     .max_draft_tokens = kTokens,
                                     .max_draft_branches = kBranches};

uint64_t g_reads_checked = 0;

class World {
 public:
  World(Scheduler& scheduler, Random& random)
      : scheduler_(scheduler),
        random_(random),
        core_({.num_blocks = kBlocks, .pending_sets = random.Between(1, 3)}, kTable),
        kv_((kBlocks + 1) * kBlockTokens) {}

  CoreWorld<A>& core() { return core_; }

  // The writers: one group, which makes one random step after another.
  template <class G>
  void Write(G& g) {
    for (uint64_t step = 1; step <= kSteps; ++step) {
      Boundary(g);
      if (g.rank() == 0) Plan(step);
      Boundary(g);
      if (kind_ < 70) Draft(g);
      if (kind_ >= 70 && kind_ < 85) {
        Release(g, TruncateBatch{.batch = batch(), .tokens = tokens_.data(), .fence = fence()});
      }
      if (kind_ >= 85) {
        RowBatch some = batch();
        some.rows += num_closed_ == 1 ? kind_ % kRows : 0;
        some.num_rows = static_cast<int32_t>(num_closed_);
        Release(g, CloseBatch{.batch = some, .fence = fence()});
      }
      Boundary(g);
      if (g.rank() == 0) A::StoreRelease(&begun_, step + 1);
    }
  }

  // A reader, which announces each read that it ends.
  void Read(uint32_t reader, uint64_t seed) {
    Random random(seed);
    std::array<Known, kRows> known;
    for (uint64_t step = 0; step <= kSteps;) {
      step = A::LoadAcquire(&begun_);
      for (uint32_t i = random.Between(1, 3); i > 0; --i) {
        const uint32_t row = random.Below(kRows);
        ReadRow(row, known[row], random.Percent(50));
      }
      A::StoreRelease(&ended_[reader], step);
      A::Pause(0);  // lets the writers go on
    }
  }

  // Who completes epochs.
  void Signal(uint32_t num_readers) {
    uint64_t completed = 0;
    for (uint32_t attempt = 0; completed < kSteps; ++attempt) {
      uint64_t oldest = kSteps + 1;
      for (uint32_t i = 0; i < num_readers; ++i) {
        oldest = std::min(oldest, A::LoadAcquire(&ended_[i]));
      }
      if (oldest > completed + 1) core_.pool().pending().Complete(completed = oldest - 1);
      A::Pause(attempt);
    }
  }

  std::string CheckAtRest() {
    for (uint32_t row = 0; row < kRows; ++row) {
      const SequenceState state = core_.table().Sequence(row);
      const Marks& truth = truth_[row][state.generation];
      for (uint32_t at = 0; at < static_cast<uint32_t>(state.kv_len); ++at) {
        if (kv_[SlotIn(row, at)].Read() != truth[at]) return "a wrong mark at rest";
      }
    }
    ThreadGroup me;
    core_.pool().Drain(me);
    const AuditReport report = core_.Audit();
    if (!report.ok() || report.open_drafts != 0) return "the audit finds an error";
    return report.pending_blocks + report.outside_blocks == 0 ? "" : "blocks are lost";
  }

 private:
  // What a reader knows of a row from before.
  struct Known {
    bool is_known = false;
    uint32_t generation = 0;
    uint32_t kv_len = 0;
    std::vector<BlockId> ids;
  };

  template <class G>
  static void Boundary(G& g) {
    g.Sync();
    A::FenceAcqRel();
  }
  RowBatch batch() {
    return {.rows = kRowNumbers, .num_rows = kRows, .statuses = statuses_.data()};
  }
  Fence fence() const { return {.epoch = step_}; }
  size_t SlotIn(uint32_t row, uint32_t at) const {
    return static_cast<size_t>(core_.table().SlotIn(row, at));
  }

  void Plan(uint64_t step) {
    step_ = step;
    kind_ = random_.Below(100);
    num_closed_ = random_.Between(1, kRows);
    is_aborted_ = random_.Percent(15);
    for (uint32_t row = 0; row < kRows; ++row) {
      const SequenceState state = core_.table().OwnSequence(row);
      const auto kv_len = static_cast<uint32_t>(state.kv_len);
      if (kind_ < 70) {
        tokens_[row] = static_cast<int32_t>(random_.Below(kTokens + 1));
        branches_[row] = static_cast<int32_t>(random_.Between(1, kBranches));
        chosen_[row] = static_cast<int32_t>(random_.Below(static_cast<uint32_t>(branches_[row])));
        accepted_[row] =
            static_cast<int32_t>(random_.Below(static_cast<uint32_t>(tokens_[row]) + 1));
        continue;
      }
      tokens_[row] = static_cast<int32_t>(random_.Below(kv_len + 1) / kBlockTokens * kBlockTokens);
      // The next generation's truth, before anybody can read it.
      Marks& next = truth_[row][state.generation + 1];
      next = truth_[row][state.generation];
      next.resize(kind_ < 85 ? static_cast<size_t>(tokens_[row]) : 0);
    }
  }

  template <class G>
  void Draft(G& g) {
    AppendRows<A, G>(g, core_.pool(), core_.table(),
                     AppendBatch{.batch = batch(), .tokens = kNone, .copies = copies_.data()})
        .Run();  // opens closed rows
    Boundary(g);
    BeginDraft<A, G>(g, core_.pool(), core_.table(),
                     BeginDraftBatch{.batch = batch(),
                                     .tokens = tokens_.data(),
                                     .branches = branches_.data(),
                                     .slots = slots_.data(),
                                     .slot_capacity = static_cast<int64_t>(slots_.size()),
                                     .copies = copies_.data()})
        .Run();
    Boundary(g);
    for (uint32_t i = g.rank(); i < copies_.size(); i += g.size()) {
      const BlockCopy& copy = copies_[i];
      for (size_t t = 0; t < static_cast<size_t>(copy.tokens); ++t) {
        kv_[copy.dst * kBlockTokens + t].Write(kv_[copy.src * kBlockTokens + t].Read());
      }
    }
    Boundary(g);
    if (g.rank() == 0) ForetellCommit();
    for (uint32_t i = g.rank(); i < slots_.size(); i += g.size()) {
      if (slots_[i] >= 0) kv_[static_cast<size_t>(slots_[i])].Write(Mark(i));
    }
    Boundary(g);
    CommitDraftBatch commit = {
        .batch = batch(), .tokens = accepted_.data(), .branches = chosen_.data(), .fence = fence()};
    if (is_aborted_) commit.tokens = commit.branches = nullptr;  // what AbortDraft is
    CommitDraft<A, G>(g, core_.pool(), core_.table(), commit).Run();
  }
  uint64_t Mark(size_t slot) const { return step_ * 1000 + slot + 1; }

  // What the rows will hold: at this generation, or at the next if an entry is replaced.
  void ForetellCommit() {
    size_t slot = 0;
    for (uint32_t row = 0; row < kRows; ++row) {
      const uint32_t generation = core_.table().OwnSequence(row).generation;
      const auto tokens = static_cast<size_t>(tokens_[row]);
      const size_t first = slot + static_cast<size_t>(chosen_[row]) * tokens;
      slot += tokens * static_cast<size_t>(branches_[row]);
      Marks& truth = truth_[row][generation];
      if (statuses_[row] == kOk && !is_aborted_) {
        for (size_t t = 0; t < static_cast<size_t>(accepted_[row]); ++t) {
          truth.push_back(Mark(first + t));
        }
      }
      truth_[row][generation + 1] = truth;
    }
  }

  template <class G, class Batch>
  void Release(G& g, const Batch& batch) {
    if (ReleaseStep<A, G>(g, core_.pool(), core_.table(), batch).Try()) return;
    g.Sync();
    ReleaseRows<A, G>(g, core_.pool(), core_.table(), batch).Run();
  }

  // Reads a row and checks the KV of all its tokens. `goes_on`: with the ids that the reader knows
  // already, if the generation says that they still hold.
  void ReadRow(uint32_t row, Known& known, bool goes_on) {
    SequenceState state;
    std::vector<BlockId> ids;
    if (!core_.table().ReadRow(row, state, [&](uint32_t, BlockId id) { ids.push_back(id); }))
      return;
    const auto kv_len = static_cast<uint32_t>(state.kv_len);
    if (goes_on && known.is_known && known.generation == state.generation) {
      if (kv_len < known.kv_len) scheduler_.Fail("a row became shorter within a generation");
      std::copy(known.ids.begin(), known.ids.end(), ids.begin());
    }
    const Marks& truth = truth_[row][state.generation];
    if (truth.size() < kv_len) scheduler_.Fail("a length that no operation gave");
    for (uint32_t at = 0; at < kv_len; ++at) {
      const uint64_t mark = kv_[ids[at / kBlockTokens] * kBlockTokens + at % kBlockTokens].Read();
      if (mark != truth[at]) scheduler_.Fail("a mark that is not the row's");
    }
    known = {true, state.generation, kv_len, ids};
    g_reads_checked += kv_len > 0;
  }

  static constexpr int32_t kRowNumbers[kRows] = {0, 1};
  static constexpr int32_t kNone[kRows] = {0, 0};

  Scheduler& scheduler_;
  Random& random_;
  CoreWorld<A> core_;
  std::vector<SchedData<uint64_t>> kv_;
  uint64_t begun_ = 1;                             // the writers have made the steps before it
  std::array<uint64_t, kMostReaders> ended_ = {};  // each reader's reads of earlier steps have
  // The marks of each row by generation. Not what is tested: plain memory that all see at once.
  std::array<std::map<uint32_t, Marks>, kRows> truth_;

  // The step of the writers.
  uint64_t step_ = 0;
  uint32_t kind_ = 0, num_closed_ = 0;
  bool is_aborted_ = false;
  std::array<int32_t, kRows> tokens_ = {}, branches_ = {}, chosen_ = {}, accepted_ = {};
  std::array<OpStatus, kRows> statuses_ = {};
  std::array<int64_t, kRows* kTokens* kBranches> slots_ = {};
  std::array<BlockCopy, kRows* kBranches> copies_ = {};
};

std::string Play(uint64_t seed) {
  Random random(seed ^ 0x4ead);
  Scheduler scheduler({.seed = seed, .max_steps = 200000});
  World world(scheduler, random);
  ThreadGroup me;
  if (random.Percent(20)) {
    scheduler.Spawn([&] { world.Write(me); });
  } else {
    SpawnBlock(scheduler, random.Between(1, 2), random.Between(1, 2), 0,
               [&](SchedBlock& g) { world.Write(g); });
  }
  const uint32_t num_readers = random.Between(1, kMostReaders);
  for (uint32_t i = 0; i < num_readers; ++i) {
    const uint64_t program = random.Next();
    scheduler.Spawn([&world, i, program] { world.Read(i, program); });
  }
  scheduler.Spawn([&] { world.Signal(num_readers); });
  return scheduler.Run() ? world.CheckAtRest() : scheduler.failure();
}

TEST(ReaderSched, WhatAReaderFindsIsTheRowsAndStaysUntilItsEpochEnds) {
  ForEachSeed(2500, Play);
  EXPECT_GT(g_reads_checked, 1000u);
}

}  // namespace
}  // namespace kvpage::test
