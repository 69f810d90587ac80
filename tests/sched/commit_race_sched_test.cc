// SPDX-License-Identifier: Apache-2.0
//
// Batches of commits and aborts by several groups on the same rows at the same time, under the
// seeded scheduler and a weak memory: one good mention of each row wins, and the row is as that
// mention left it; what is let go waits for the winner's epoch, though there are fewer sets than
// epochs and a thread that completes them; nothing is lost.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/core_world.h"
#include "tests/support/random.h"
#include "tests/support/sched_atomics.h"
#include "tests/support/sched_warp.h"
#include "tests/support/scheduler.h"
#include "tests/support/test_seed.h"

namespace kvpage::test {
namespace {

using enum OpStatus;
using World = CoreWorld<SchedAtomics>;

constexpr uint32_t kRows = 4;
constexpr uint32_t kBlockTokens = 2;
constexpr uint32_t kRowBlocks = 6;
constexpr uint32_t kBlocks = 64;
constexpr int32_t kTokens = 4;
constexpr uint32_t kBranches = 2;
constexpr uint32_t kBranchBlocks = 3;
constexpr uint64_t kEpochs = 4;
constexpr uint64_t kSignalled = 2;  // of these, while the batches run

World MakeWorld(uint32_t pending_sets, const std::vector<int32_t>& lengths,
                const std::vector<int32_t>& branches) {
  PageTableOptions table;
  table.max_sequences = kRows;
  table.max_blocks_per_sequence = kRowBlocks;
  table.block_tokens = kBlockTokens;
  table.max_draft_tokens = kTokens;
  table.max_draft_branches = kBranches;
  World world({.num_blocks = kBlocks, .pending_sets = pending_sets}, table);
  world.Append(lengths);
  world.BeginDraft(std::vector<int32_t>(kRows, kTokens), branches);
  return world;
}

// One group's batch.
struct Commits {
  bool aborts = false;
  uint64_t epoch = 0;
  std::vector<int32_t> rows, tokens, branches;
  std::vector<bool> is_bad;
  std::vector<OpStatus> statuses;

  RowBatch Batch() {
    return {.rows = rows.data(),
            .num_rows = static_cast<int32_t>(rows.size()),
            .statuses = statuses.data()};
  }
  CommitDraftBatch Commit() {
    return {.batch = Batch(),
            .tokens = tokens.data(),
            .branches = branches.data(),
            .fence = {.epoch = epoch}};
  }
};

// `branches`: of each row's draft.
Commits RandomCommits(Random& random, const std::vector<int32_t>& branches) {
  Commits commits;
  commits.aborts = random.Percent(25);
  commits.epoch = random.Below(kEpochs + 1);
  const uint32_t size = random.Between(1, 6);
  for (uint32_t i = 0; i < size; ++i) {
    const uint32_t row = random.Below(kRows);
    const bool is_bad = !commits.aborts && random.Percent(20);
    commits.is_bad.push_back(is_bad);
    const bool has_long = is_bad && random.Percent(50);
    commits.rows.push_back(static_cast<int32_t>(row));
    commits.tokens.push_back(commits.aborts ? 0
                             : has_long     ? kTokens + 1
                                            : static_cast<int32_t>(random.Below(kTokens + 1)));
    commits.branches.push_back(commits.aborts        ? 0
                               : is_bad && !has_long ? branches[row]
                                                     : static_cast<int32_t>(random.Below(
                                                           static_cast<uint32_t>(branches[row]))));
  }
  commits.statuses.assign(size, kInvalid);
  return commits;
}

template <class G>
void RunCommits(G& g, const World& world, Commits& commits) {
  if (!commits.aborts) {
    CommitDraft<SchedAtomics, G>(g, world.pool(), world.table(), commits.Commit()).Run();
    return;
  }
  const AbortDraftBatch batch = {.batch = commits.Batch(), .fence = {.epoch = commits.epoch}};
  CommitDraft<SchedAtomics, G>(g, world.pool(), world.table(), batch).Run();
}

// A row with its draft, before the batches run.
struct Before {
  int32_t length = 0;
  std::vector<BlockId> entries;
  BlockId draft[kBranches][kBranchBlocks];

  static Before Of(const World& world, uint32_t row) {
    Before before;
    before.length = world.table().Sequence(row).kv_len;
    for (uint32_t k = 0; k < kRowBlocks; ++k) {
      before.entries.push_back(world.table().Entry(row, k));
    }
    for (uint32_t b = 0; b < kBranches; ++b) {
      for (uint32_t n = 0; n < kBranchBlocks; ++n) {
        before.draft[b][n] = world.table().DraftEntry(row, b, n);
      }
    }
    return before;
  }
  // What a commit of `tokens` tokens of a branch makes of the entries; what it drops.
  std::vector<BlockId> After(int32_t tokens, uint32_t branch, std::vector<BlockId>& dropped) const {
    std::vector<BlockId> after = entries;
    const uint32_t first = static_cast<uint32_t>(length) / kBlockTokens;
    const uint32_t end =
        tokens == 0 ? first : (static_cast<uint32_t>(length + tokens - 1) / kBlockTokens) + 1;
    for (uint32_t b = 0; b < kBranches; ++b) {
      for (uint32_t n = 0; n < kBranchBlocks; ++n) {
        BlockId id = draft[b][n];
        if (id == kNullBlock) continue;
        if (b == branch && first + n < end) std::swap(id, after[first + n]);
        if (id != kNullBlock) dropped.push_back(id);
      }
    }
    return after;
  }
};

std::string CheckRow(const World& world, uint32_t row, const Before& before,
                     const std::vector<Commits>& all, uint64_t completed) {
  const std::string name = "row " + std::to_string(row);
  const SequenceState state = world.table().Sequence(row);
  const Commits* winner = nullptr;
  size_t place = 0;
  bool is_mentioned = false;
  for (const Commits& commits : all) {
    for (size_t i = 0; i < commits.rows.size(); ++i) {
      if (commits.rows[i] != static_cast<int32_t>(row)) continue;
      const bool is_bad = commits.is_bad[i];
      is_mentioned |= !is_bad;
      const OpStatus status = commits.statuses[i];
      if (status == kOk) {
        if (is_bad) return name + ": a bad mention wins";
        if (winner != nullptr) return name + ": two win";
        winner = &commits;
        place = i;
      } else if (status != kWrongState && !(is_bad && status == kInvalid)) {
        return name + ": a loser is told " + OpStatusName(status);
      }
    }
  }
  if ((winner != nullptr) != is_mentioned) return name + ": nobody wins";
  if (state.drafting != (winner == nullptr)) return name + ": its draft is still open, or lost";
  if (winner == nullptr) return state.kv_len == before.length ? "" : name + ": another length";
  if (state.kv_len != before.length + winner->tokens[place]) return name + ": a wrong length";
  std::vector<BlockId> dropped;
  const std::vector<BlockId> after =
      before.After(winner->tokens[place], static_cast<uint32_t>(winner->branches[place]), dropped);
  for (uint32_t k = 0; k < kRowBlocks; ++k) {
    if (world.table().Entry(row, k) != after[k]) return name + ": entries of several batches";
  }
  for (const BlockId id : dropped) {
    uint64_t errors = 0;
    const uint64_t waits = world.pool().pending().WaitsFor(id, errors);
    if (winner->epoch > completed && waits <= winner->epoch) return name + ": free too early";
    if (winner->epoch == 0 && waits != 0) return name + ": waits without a fence";
  }
  return "";
}

// Lets all epochs complete: what no row holds must be free then.
std::string CheckAtRest(World& world) {
  const AuditReport before = world.Audit();
  if (!before.ok()) return "the audit finds an error";
  if (before.outside_blocks != 0) return "blocks are lost";
  world.pool().pending().Complete(kEpochs);
  ThreadGroup me;
  world.pool().Drain(me);
  const AuditReport after = world.Audit();
  if (!after.ok()) return "the audit finds an error after the last epoch";
  if (after.pending_blocks != 0) return "blocks wait for ever";
  if (after.free_blocks + after.table_references != kBlocks) return "blocks are lost at the end";
  return "";
}

std::string Play(uint64_t seed) {
  Random random(seed ^ 0xc0221);
  Scheduler scheduler({.seed = seed, .max_steps = 100000});
  std::vector<int32_t> lengths, branches;
  for (uint32_t row = 0; row < kRows; ++row) {
    lengths.push_back(static_cast<int32_t>(random.Between(2, 4)));
    branches.push_back(static_cast<int32_t>(random.Between(1, kBranches)));
  }
  World world = MakeWorld(random.Between(1, 2), lengths, branches);
  std::vector<Before> before;
  for (uint32_t row = 0; row < kRows; ++row) before.push_back(Before::Of(world, row));
  std::vector<Commits> all;
  const uint32_t num_groups = random.Between(2, 3);
  for (uint32_t i = 0; i < num_groups; ++i) all.push_back(RandomCommits(random, branches));
  for (Commits& commits : all) {
    if (random.Percent(30)) {
      scheduler.Spawn([&] {
        ThreadGroup me;
        RunCommits(me, world, commits);
      });
    } else {
      SpawnBlock(scheduler, random.Between(1, 2), random.Between(1, 3), 0,
                 [&](SchedBlock& g) { RunCommits(g, world, commits); });
    }
  }
  const bool signals = random.Percent(60);
  if (signals) {
    scheduler.Spawn([&] {
      ThreadGroup me;
      for (uint64_t epoch = 1; epoch <= kSignalled; ++epoch) {
        world.pool().pending().Complete(epoch);
        world.pool().Drain(me);
      }
    });
  }
  if (!scheduler.Run()) return scheduler.failure();
  for (uint32_t row = 0; row < kRows; ++row) {
    const std::string wrong = CheckRow(world, row, before[row], all, signals ? kSignalled : 0);
    if (!wrong.empty()) return wrong;
  }
  return CheckAtRest(world);
}

TEST(CommitRaceSched, OneMentionOfEachRowWinsAndNothingIsLost) { ForEachSeed(6000, Play); }

}  // namespace
}  // namespace kvpage::test
