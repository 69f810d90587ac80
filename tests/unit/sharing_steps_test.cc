// SPDX-License-Identifier: Apache-2.0
//
// The short ways of Fork, Truncate and Close by thread blocks and clusters of several warps: they
// leave what the general way leaves, and take the batches that they are for.

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "kvpage/core/append_rows.h"
#include "kvpage/core/cpu_atomics.h"
#include "kvpage/core/fork_rows.h"
#include "kvpage/core/fork_step.h"
#include "kvpage/core/release_rows.h"
#include "kvpage/core/release_step.h"
#include "tests/support/emulated_cluster.h"
#include "tests/support/random.h"
#include "tests/support/test_seed.h"

namespace kvpage::test {
namespace {

constexpr uint32_t kRows = 120;
constexpr uint32_t kParents = 4;  // the rows 50 .. 53
constexpr uint32_t kFirstParent = 50;
constexpr uint32_t kRowBlocks = 70;
constexpr uint32_t kBlocks = 2048;

// A pool and a table, and what the last batch answered.
class World {
 public:
  World() {
    const BlockPoolOptions pool{.num_blocks = kBlocks};
    const PageTableOptions table{
        .max_sequences = kRows, .max_blocks_per_sequence = kRowBlocks, .block_tokens = 2};
    pool_memory_.resize(BlockPoolStorage::RequiredBytes(pool) / 8 + 1);
    table_memory_.resize(PageTableStorage::RequiredBytes(table) / 8 + 1);
    Carver pool_carver(pool_memory_.data());
    Carver table_carver(table_memory_.data());
    pool_ = BlockPoolStorage::Carve(pool_carver, pool);
    table_ = PageTableStorage::Carve(table_carver, table);
    BlockPoolRef<CpuAtomics>(pool_).Init(0, 1);
    PageTableRef<CpuAtomics>(table_).Init(0, 1);
  }

  BlockPoolRef<CpuAtomics> pool() const { return BlockPoolRef<CpuAtomics>(pool_); }
  PageTableRef<CpuAtomics> table() const { return PageTableRef<CpuAtomics>(table_); }
  std::vector<OpStatus>& statuses() { return statuses_; }
  uint32_t* WordOf(BlockId id) const {
    return &pool_.words.words[pool_.words.layout.Index(id - 1)];
  }

  void SetUp(const std::vector<int32_t>& lengths) {
    std::vector<int32_t> rows(kParents);
    std::iota(rows.begin(), rows.end(), kFirstParent);
    ThreadGroup me;
    AppendBatch batch;
    batch.batch = {rows.data(), kParents, statuses_.data()};
    batch.tokens = lengths.data();
    AppendRows<CpuAtomics, ThreadGroup>(me, pool(), table(), batch).Run();
  }

  // The first thing that differs; empty if nothing does.
  std::string Difference(const World& other) const {
    for (uint32_t i = 0; i < kRows; ++i) {
      if (statuses_[i] != other.statuses_[i]) return "status " + std::to_string(i);
      if (table().OwnSequence(i).Word() != other.table().OwnSequence(i).Word()) {
        return "row " + std::to_string(i);
      }
      if (table_.held_blocks[i] != other.table_.held_blocks[i]) return "blocks held";
      if (table_.claims[i] != other.table_.claims[i]) return "claims";
      for (uint32_t j = 0; j < kRowBlocks; ++j) {
        if (table().Entry(i, j) != other.table().Entry(i, j)) {
          return "entry " + std::to_string(j) + " of row " + std::to_string(i);
        }
      }
    }
    for (BlockId id = 1; id <= kBlocks; ++id) {
      if (pool().words().State(id).Word() != other.pool().words().State(id).Word()) {
        return "block " + std::to_string(id);
      }
    }
    for (uint32_t leaf = 0; leaf < kBlocks / 64; ++leaf) {
      if (pool().bits().Leaf(leaf) != other.pool().bits().Leaf(leaf)) return "free bits";
    }
    for (uint32_t s = 0; s < pool().gate().num_shards(); ++s) {
      if (pool().gate().FreeAtRest(s) != other.pool().gate().FreeAtRest(s)) return "gate";
    }
    return "";
  }

 private:
  std::vector<uint64_t> pool_memory_;
  std::vector<uint64_t> table_memory_;
  BlockPoolStorage pool_;
  PageTableStorage table_;
  std::vector<OpStatus> statuses_ = std::vector<OpStatus>(kRows, OpStatus::kOk);
};

struct Shared {
  std::vector<int32_t> rows;
  std::vector<int32_t> parents;
  std::vector<int32_t> tokens;
  FailureMode failure = FailureMode::kPerRow;

  RowBatch Of(World& world) const {
    RowBatch batch;
    batch.rows = rows.data();
    batch.num_rows = static_cast<int32_t>(rows.size());
    batch.statuses = world.statuses().data();
    batch.failure = failure;
    return batch;
  }
  ForkBatch Fork(World& world) const {
    ForkBatch fork;
    fork.batch = Of(world);
    fork.parents = parents.data();
    fork.tokens = tokens.data();
    return fork;
  }
  TruncateBatch Truncate(World& world) const { return {Of(world), tokens.data()}; }
  CloseBatch Close(World& world) const { return {Of(world)}; }
};

template <template <class, class> class Step, template <class, class> class General, class Batch>
std::string RunBoth(const ClusterShape& shape, World& by_step, const Batch& step, World& by_one,
                    const Batch& general) {
  std::vector<uint8_t> took(shape.clusters * shape.cluster_lanes(), 0);
  RunClusters(shape, [&](EmulatedCluster& g) {
    const auto pool = by_step.pool();
    const auto table = by_step.table();
    const bool done = Step<CpuAtomics, EmulatedCluster>(g, pool, table, step).Try();
    took[g.grid_block() * g.block().size() + g.block().rank()] = done;
  });
  for (const uint8_t done : took) {
    if (done == 0) return "not the short way";
  }
  ThreadGroup me;
  General<CpuAtomics, ThreadGroup>(me, by_one.pool(), by_one.table(), general).Run();
  return by_step.Difference(by_one);
}

std::string Play(const ClusterShape& shape, uint64_t seed) {
  Random random(seed);
  World by_step;
  World by_one;
  std::vector<int32_t> lengths;
  for (uint32_t i = 0; i < kParents; ++i) {
    lengths.push_back(static_cast<int32_t>(random.Below(2 * kRowBlocks + 1)));
  }
  by_step.SetUp(lengths);
  by_one.SetUp(lengths);
  for (uint32_t round = 0; round < 2; ++round) {
    Shared batch;
    if (random.Percent(25)) batch.failure = FailureMode::kWholeBatch;
    const bool is_equally_long = random.Percent(50);
    const uint32_t num_parents = random.Percent(50) ? 1 : kParents;
    for (uint32_t row = 0; row < kRows; ++row) {
      if (row >= kFirstParent && row < kFirstParent + kParents) continue;
      const uint32_t parent = row * num_parents / kRows;
      const int32_t length = lengths[parent];
      batch.rows.push_back(static_cast<int32_t>(row));
      batch.parents.push_back(static_cast<int32_t>(kFirstParent + parent));
      batch.tokens.push_back(is_equally_long ? length
                                             : static_cast<int32_t>(random.Below(length + 1)));
      batch.tokens.back() &= ~1;  // full blocks
    }
    if (random.Percent(40)) std::swap(batch.rows[3], batch.rows[100]);
    if (random.Percent(30)) batch.rows[7] = batch.rows[60];
    if (random.Percent(30)) batch.parents[9] = batch.rows[20];
    if (random.Percent(30)) batch.tokens[70] = -1;
    std::string wrong = RunBoth<ForkStep, ForkRows>(shape, by_step, batch.Fork(by_step), by_one,
                                                    batch.Fork(by_one));
    if (!wrong.empty()) return "Fork: " + wrong;
    for (int32_t& tokens : batch.tokens) tokens = static_cast<int32_t>(random.Below(40));
    wrong = RunBoth<ReleaseStep, ReleaseRows>(shape, by_step, batch.Truncate(by_step), by_one,
                                              batch.Truncate(by_one));
    if (!wrong.empty()) return "Truncate: " + wrong;
    if (random.Percent(50)) batch.failure = FailureMode::kPerRow;
    wrong = RunBoth<ReleaseStep, ReleaseRows>(shape, by_step, batch.Close(by_step), by_one,
                                              batch.Close(by_one));
    if (!wrong.empty()) return "Close: " + wrong;
  }
  return "";
}

TEST(SharingSteps, OneBlockOfSeveralWarpsLeavesWhatTheGeneralWayLeaves) {
  ForEachSeed(4, [](uint64_t seed) { return Play({.warps = 5}, seed); });
}

TEST(SharingSteps, AClusterLeavesWhatTheGeneralWayLeaves) {
  ForEachSeed(4, [](uint64_t seed) { return Play({.blocks = 2, .warps = 3}, seed); });
}

TEST(SharingSteps, ClustersThatDoNotMeetLeaveWhatTheGeneralWayLeaves) {
  ForEachSeed(4, [](uint64_t seed) {
    // Fork is for one cluster.
    Random random(seed);
    World by_step;
    World by_one;
    const std::vector<int32_t> lengths(kParents, 2 * kRowBlocks);
    by_step.SetUp(lengths);
    by_one.SetUp(lengths);
    Shared batch;
    for (int32_t row = 0; row < static_cast<int32_t>(kFirstParent); ++row) {
      batch.rows.push_back(row);
      batch.parents.push_back(kFirstParent);
      batch.tokens.push_back(2 * static_cast<int32_t>(random.Between(1, kRowBlocks)));
    }
    std::string wrong = RunBoth<ForkStep, ForkRows>(
        {.blocks = 2, .warps = 1}, by_step, batch.Fork(by_step), by_one, batch.Fork(by_one));
    if (!wrong.empty()) return "Fork: " + wrong;
    batch.rows.insert(batch.rows.end(), {50, 51, 52, 53});
    if (random.Percent(50)) std::swap(batch.rows[0], batch.rows[1]);
    return RunBoth<ReleaseStep, ReleaseRows>({.clusters = 2, .blocks = 2, .warps = 1}, by_step,
                                             batch.Close(by_step), by_one, batch.Close(by_one));
  });
}

TEST(SharingSteps, ReferencesThatSomebodyTookAreMissedByTheLastRows) {
  World by_step;
  World by_one;
  Shared batch;
  for (int32_t row = 0; row < static_cast<int32_t>(kFirstParent); ++row) {
    batch.rows.push_back(row);
    batch.parents.push_back(kFirstParent);
    batch.tokens.push_back(80);
  }
  for (World* world : {&by_step, &by_one}) {
    world->SetUp(std::vector<int32_t>(kParents, 80));
    ThreadGroup me;
    ForkRows<CpuAtomics, ThreadGroup>(me, world->pool(), world->table(), batch.Fork(*world)).Run();
    for (const BlockId id : {3, 4}) {
      uint32_t* const word = world->WordOf(id);
      BlockState state = BlockState::Parse(*word);
      state.references -= 1 + static_cast<int32_t>(id);
      *word = state.Word();
    }
  }
  EXPECT_EQ((RunBoth<ReleaseStep, ReleaseRows>({.warps = 5}, by_step, batch.Close(by_step), by_one,
                                               batch.Close(by_one))),
            "");
  EXPECT_EQ(by_step.statuses()[45], OpStatus::kOk);
  EXPECT_EQ(by_step.statuses()[46], OpStatus::kDoubleFree);
}

TEST(SharingSteps, LeavesTailsAndTooManyReferencesToTheGeneralWay) {
  World world;
  world.SetUp(std::vector<int32_t>(kParents, 3));
  BlockCopy copies[2];
  Shared batch{{1, 2}, {50, 50}, {2, 3}};
  bool done = true;
  const auto try_fork = [&](const ForkBatch& fork) {
    RunClusters({.warps = 2}, [&](EmulatedCluster& g) {
      const bool was_short =
          ForkStep<CpuAtomics, EmulatedCluster>(g, world.pool(), world.table(), fork).Try();
      if (g.rank() == 0) done = was_short;
    });
    return done;
  };
  ForkBatch fork = batch.Fork(world);
  fork.copies = copies;
  EXPECT_FALSE(try_fork(fork));
  batch.tokens = {2, 2};
  const auto references = [&](int32_t count) {
    uint32_t* const word = world.WordOf(1);
    *word = BlockState{count, BlockState::Parse(*word).generation}.Word();
  };
  references(kMaxReferences - 1);
  EXPECT_FALSE(try_fork(batch.Fork(world)));
  EXPECT_FALSE(world.table().OwnSequence(1).open);
  references(kMaxReferences - 2);
  EXPECT_TRUE(try_fork(batch.Fork(world)));
  EXPECT_EQ(world.pool().words().State(1).references, kMaxReferences);
}

}  // namespace
}  // namespace kvpage::test
