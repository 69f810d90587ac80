// SPDX-License-Identifier: Apache-2.0
//
// One batch of commits by the lanes of a thread block, and readers of the table, under the seeded
// scheduler and a weak memory: whichever lane comes first, the same mention of a row wins; and
// whoever sees a length finds the accepted block for every token of it.

#include <gtest/gtest.h>

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
constexpr uint32_t kPlaces = 9;
constexpr int32_t kLength = 3;
constexpr int32_t kTokens = 4;

World MakeWorld() {
  PageTableOptions table;
  table.max_sequences = kRows;
  table.max_blocks_per_sequence = 6;
  table.block_tokens = 2;
  table.max_draft_tokens = kTokens;
  table.max_draft_branches = 2;
  World world({.num_blocks = 64}, table);
  world.Append({kLength, kLength, kLength, kLength});
  world.BeginDraft({kTokens, kTokens, kTokens}, {1, 2, 2});  // none on the last row
  return world;
}

struct Commits {
  std::vector<int32_t> rows, tokens, branches;
  std::vector<OpStatus> expected;
  std::vector<OpStatus> statuses = std::vector<OpStatus>(kPlaces, kInvalid);

  CommitDraftBatch Batch() {
    CommitDraftBatch batch;
    batch.batch.rows = rows.data();
    batch.batch.num_rows = kPlaces;
    batch.batch.statuses = statuses.data();
    batch.tokens = tokens.data();
    batch.branches = branches.data();
    return batch;
  }
};

// Rows mentioned more than once, some of the mentions bad; what each must be answered.
Commits RandomCommits(Random& random) {
  Commits commits;
  uint32_t taken = 1u << (kRows - 1);
  for (uint32_t i = 0; i < kPlaces; ++i) {
    const uint32_t row = random.Below(kRows);
    const bool is_bad = row + 1 < kRows && random.Percent(25);
    commits.rows.push_back(static_cast<int32_t>(row));
    commits.tokens.push_back(is_bad ? kTokens + 1
                                    : static_cast<int32_t>(random.Below(kTokens + 1)));
    commits.branches.push_back(row == 0 ? 0 : static_cast<int32_t>(random.Below(2)));
    const bool is_late = (taken >> row & 1) != 0;
    commits.expected.push_back(is_bad ? kInvalid : is_late ? kWrongState : kOk);
    if (!is_bad) taken |= 1u << row;
  }
  return commits;
}

// The block that position `at` of a row must lie in, if readers see it: before, or after a commit
// of branch 0 or 1.
void Read(Scheduler& scheduler, const World& world, BlockId first_private) {
  for (uint32_t i = 0; i < 12; ++i) {
    const uint32_t row = i % (kRows - 1);
    const SequenceState state = world.table().Sequence(row);
    for (int32_t at = kLength; at < state.kv_len; ++at) {
      const BlockId id = world.table().Entry(row, static_cast<uint32_t>(at / 2));
      const bool is_own = row == 0 && at < 4;
      if (is_own != (id < first_private)) scheduler.Fail("a token without its block");
    }
    SchedAtomics::Pause(i);
  }
}

std::string Play(uint64_t seed) {
  Random random(seed ^ 0xd4af7);
  Scheduler scheduler({.seed = seed, .max_steps = 60000});
  World world = MakeWorld();
  Commits commits = RandomCommits(random);
  const BlockId first_private = world.table().DraftEntry(0, 0, 1);
  SpawnBlock(scheduler, random.Between(1, 3), random.Between(1, 3), 0, [&](SchedBlock& g) {
    CommitDraft<SchedAtomics, SchedBlock>(g, world.pool(), world.table(), commits.Batch()).Run();
  });
  scheduler.Spawn([&] { Read(scheduler, world, first_private); });
  if (!scheduler.Run()) return scheduler.failure();
  for (uint32_t i = 0; i < kPlaces; ++i) {
    if (commits.statuses[i] == commits.expected[i]) continue;
    return "place " + std::to_string(i) + ", row " + std::to_string(commits.rows[i]) + ": is " +
           OpStatusName(commits.statuses[i]) + ", expected " + OpStatusName(commits.expected[i]);
  }
  for (uint32_t i = 0; i < kPlaces; ++i) {
    if (commits.expected[i] != kOk) continue;
    const auto row = static_cast<uint32_t>(commits.rows[i]);
    if (world.table().Sequence(row).kv_len != kLength + commits.tokens[i]) return "a wrong length";
  }
  return world.Audit().ok() ? "" : "the audit finds an error";
}

TEST(DraftSched, EqualBatchesGiveEqualAnswersAndReadersFindAcceptedBlocks) {
  ForEachSeed(3000, Play);
}

}  // namespace
}  // namespace kvpage::test
