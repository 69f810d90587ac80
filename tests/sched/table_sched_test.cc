// SPDX-License-Identifier: Apache-2.0
//
// Readers of a page table while batches lengthen and fork its rows, under the seeded scheduler and
// a weak memory: whoever sees a length finds a block for every token of it.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "kvpage/core/append_rows.h"
#include "kvpage/core/fork_rows.h"
#include "kvpage/core/fork_step.h"
#include "tests/sched/pool_world.h"
#include "tests/support/sched_warp.h"
#include "tests/support/test_seed.h"

namespace kvpage::test {
namespace {

using Table = PageTableRef<SchedAtomics>;

constexpr uint32_t kRows = 3;
constexpr uint32_t kAppendedRows = 2;  // the last one is forked from the first
constexpr PageTableOptions kOptions = {
    .max_sequences = kRows, .max_blocks_per_sequence = 4, .block_tokens = 2};

struct Batches {
  std::vector<std::vector<int32_t>> appends;  // tokens by batch and row
  int32_t forked_tokens = 0;
  BlockCopy copy;
  std::vector<OpStatus> statuses = std::vector<OpStatus>(kRows, OpStatus::kInvalid);
};

template <class G>
void RunBatches(G& g, const Pool& pool, const Table& table, Batches& batches) {
  static constexpr int32_t kRowNumbers[kRows] = {0, 1, 2};
  for (const std::vector<int32_t>& tokens : batches.appends) {
    const AppendBatch batch{.batch = {kRowNumbers, kAppendedRows, batches.statuses.data()},
                            .tokens = tokens.data()};
    AppendRows<SchedAtomics, G>(g, pool, table, batch).Run();
    g.Sync();
  }
  if (g.rank() == 0) batches.forked_tokens = table.Sequence(0).kv_len;
  g.Sync();
  const ForkBatch fork{.batch = {&kRowNumbers[2], 1, batches.statuses.data()},
                       .parents = &kRowNumbers[0],
                       .tokens = &batches.forked_tokens,
                       .copies = &batches.copy};
  if (ForkStep<SchedAtomics, G>(g, pool, table, fork).Try()) return;
  g.Sync();
  ForkRows<SchedAtomics, G>(g, pool, table, fork).Run();
}

void Read(Scheduler& scheduler, const Table& table, uint64_t seed) {
  Random random(seed);
  int32_t last[kRows] = {};
  for (uint32_t i = 0; i < 10; ++i) {
    const uint32_t row = random.Below(kRows);
    const SequenceState state = table.Sequence(row);
    if (state.kv_len < last[row]) scheduler.Fail("a row became shorter");
    last[row] = state.kv_len;
    for (int32_t position = 0; position < state.kv_len; ++position) {
      const int64_t slot = table.SlotIn(row, static_cast<uint32_t>(position));
      if (slot < kOptions.block_tokens) scheduler.Fail("a token without a block");
      if (slot % kOptions.block_tokens != position % kOptions.block_tokens) {
        scheduler.Fail("a token in the wrong slot");
      }
    }
    SchedAtomics::Pause(i);
  }
}

std::string Play(uint64_t seed) {
  Random random(seed ^ 0x7ab1e);
  Scheduler scheduler({.seed = seed, .max_steps = 60000});
  PoolWorld world(scheduler, {.num_blocks = 8, .gate_words = Placement::kContiguous},
                  {1, 2, 3, 4, 5, 6, 7, 8});
  std::vector<uint64_t> memory(PageTableStorage::RequiredBytes(kOptions) / sizeof(uint64_t));
  Carver carver(memory.data());
  const Table table(PageTableStorage::Carve(carver, kOptions));
  table.Init(0, 1);
  Batches batches;
  batches.appends.resize(random.Between(1, 2));
  for (std::vector<int32_t>& tokens : batches.appends) {
    for (uint32_t row = 0; row < kAppendedRows; ++row) {
      tokens.push_back(static_cast<int32_t>(random.Below(4)));
    }
  }
  if (random.Percent(25)) {
    scheduler.Spawn([&] {
      ThreadGroup me;
      RunBatches(me, world.pool(), table, batches);
    });
  } else {
    SpawnBlock(scheduler, random.Between(1, 2), 2, 0,
               [&](SchedBlock& g) { RunBatches(g, world.pool(), table, batches); });
  }
  for (uint32_t i = 0; i < 2; ++i) {
    const uint64_t program = random.Next();
    scheduler.Spawn([&, program] { Read(scheduler, table, program); });
  }
  return scheduler.Run() ? "" : scheduler.failure();
}

TEST(PageTableSched, ReadersFindABlockForEveryTokenTheySee) { ForEachSeed(3000, Play); }

}  // namespace
}  // namespace kvpage::test
