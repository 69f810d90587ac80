// SPDX-License-Identifier: Apache-2.0
//
// The block pool called by warps and thread blocks whose lanes the seeded scheduler interleaves: a
// leader acts for other lanes, so their accesses to a block must be ordered before what it does.

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/sched/pool_world.h"
#include "tests/support/sched_warp.h"
#include "tests/support/test_seed.h"

namespace kvpage::test {
namespace {

// What the lanes of one group share; touched by one lane at a time, between two Sync().
struct Shared {
  std::vector<BlockId> ids;
};

class Lane {
 public:
  Lane(PoolWorld& world, Scheduler& scheduler, SchedBlock& g, Shared& shared, uint64_t seed)
      : world_(world), scheduler_(scheduler), g_(g), shared_(shared), random_(seed) {}

  void Run(uint32_t most) {
    const uint32_t operations = random_.Between(1, 4);
    for (uint32_t i = 0; i < operations; ++i) {
      switch (random_.Below(3)) {
        case 0:
          AllocateOne();
          break;
        case 1:
          AllocateForAll(random_.Between(1, most));
          break;
        default:
          ReleaseOne();
      }
    }
    if (random_.Percent(70)) {
      while (g_.Any(!mine_.empty())) ReleaseOne();
    }
  }

 private:
  uint64_t Tag(BlockId id) const { return scheduler_.self() * 1000 + id; }

  void Keep(BlockId id) {
    mine_.push_back(id);
    world_.Receive(id, Tag(id));
  }

  // Each lane a block for itself; only the lowest lanes may be served.
  void AllocateOne() {
    SchedBlock w = random_.Percent(50) ? g_ : g_.subgroup();
    const BlockId id = world_.pool().TryAllocateOne(w);
    if (id != kNullBlock) Keep(id);
    const uint32_t served = w.Sum(id != kNullBlock ? 1u : 0u);
    if ((id != kNullBlock) != (w.rank() < served)) scheduler_.Fail("a gap in the lanes served");
  }

  // Some blocks for the whole group, which its lanes then divide.
  void AllocateForAll(uint32_t n) {
    if (g_.rank() == 0) shared_.ids.assign(n, kNullBlock);
    g_.Sync();
    const OpStatus status = world_.pool().TryAllocate(g_, n, shared_.ids.data());
    if (status == OpStatus::kNeverFits) {
      if (n <= world_.pool().num_blocks()) scheduler_.Fail("NeverFits for what fits");
      return;
    }
    for (uint32_t i = g_.rank(); i < n && status == OpStatus::kOk; i += g_.size()) {
      Keep(shared_.ids[i]);
    }
    g_.Sync();
  }

  // Every lane that has a block gives one back, all in one call.
  void ReleaseOne() {
    BlockId id = kNullBlock;
    if (!mine_.empty()) {
      id = mine_.back();
      mine_.pop_back();
      world_.Expect(id, Tag(id));
      world_.Write(id, 0);  // must be over before the next owner comes
      world_.Leave(id);
    }
    if (world_.pool().Release(g_, id) != OpStatus::kOk) scheduler_.Fail("release of a held block");
  }

  PoolWorld& world_;
  Scheduler& scheduler_;
  SchedBlock& g_;
  Shared& shared_;
  Random random_;  // the same in every lane
  std::vector<BlockId> mine_;
};

std::string Play(uint64_t seed, bool is_weak, uint32_t max_subgroups) {
  Random random(seed ^ 0xb10c);
  const PoolPlan plan = MakePoolPlan(random);
  Scheduler scheduler({.seed = seed, .is_weak = is_weak, .max_steps = 100000});
  PoolWorld world(scheduler, plan.options, plan.free);
  std::vector<std::unique_ptr<Shared>> shared;
  const uint32_t groups = random.Between(2, 3);
  for (uint32_t i = 0; i < groups; ++i) {
    Shared& own = *shared.emplace_back(std::make_unique<Shared>());
    const uint64_t program = random.Next();
    const uint32_t subgroups = random.Between(1, max_subgroups);
    const uint32_t lanes = random.Between(1, 4 / subgroups);
    SpawnBlock(scheduler, subgroups, lanes, random.Percent(60) ? 0 : i,
               [&, program](SchedBlock& g) {
                 Lane lane(world, scheduler, g, own, program);
                 lane.Run(static_cast<uint32_t>(plan.free.size()));
               });
  }
  if (!scheduler.Run()) return scheduler.failure();
  const std::string wrong = world.CheckAtRest();
  return wrong.empty() ? wrong : wrong + "\n" + scheduler.Trace();
}

// The lanes of a warp share a block each with other threads; all read them and let go, while
// somebody waits for the blocks and writes to them. One lane makes both blocks free that two lanes
// let go of, and knows nothing of the threads that held the other one. A third block is free from
// the start, so that the summary, which is set with release, plays no part.
std::string PlaySharers(uint64_t seed) {
  constexpr uint64_t kTag = 5;
  Random random(seed ^ 0x5a4e);
  Scheduler scheduler({.seed = seed});
  PoolWorld world(scheduler, {.num_blocks = 3, .gate_words = Placement::kContiguous}, {3});
  const Pool& pool = world.pool();
  const bool takes_one = random.Percent(50);
  const auto use_and_release = [&](auto& g, BlockId id) {
    world.Expect(id, kTag);
    world.Leave(id);
    if (pool.Release(g, id) != OpStatus::kOk) scheduler.Fail("release of a held block");
  };
  for (BlockId id = 1; id <= 2; ++id) {
    world.Write(id, kTag);
    for (uint32_t others = random.Below(3); others > 0; --others) {
      world.Join(id);
      pool.words().Share(id, 1, Pool::kAnyGeneration);
      scheduler.Spawn([&, id] {
        ThreadGroup me;
        use_and_release(me, id);
      });
    }
  }
  SpawnWarp(scheduler, 2, 0, [&](SchedWarp& warp) { use_and_release(warp, 1 + warp.rank()); });
  scheduler.Spawn([&] {
    ThreadGroup me;
    BlockId ids[3];
    for (uint32_t i = 0; i < 30; ++i) {
      if (takes_one) {
        const BlockId id = pool.TryAllocateOne(me);
        if (id != kNullBlock) world.Receive(id, kTag + 1);
      } else if (pool.TryAllocate(me, 3, ids) == OpStatus::kOk) {
        for (const BlockId id : ids) world.Receive(id, kTag + 1);
        return;
      }
      SchedAtomics::Pause(i);
    }
  });
  if (!scheduler.Run()) return scheduler.failure();
  const std::string wrong = world.CheckAtRest();
  return wrong.empty() ? wrong : wrong + "\n" + scheduler.Trace();
}

TEST(BlockPoolWarpSched, LanesThatShareBlocksReadThemInPeace) { ForEachSeed(6000, PlaySharers); }

TEST(BlockPoolWarpSched, WarpsHandBlocksOverUnderAWeakMemory) {
  ForEachSeed(6000, [](uint64_t seed) { return Play(seed, true, 1); });
}

TEST(BlockPoolWarpSched, BlocksHandBlocksOverUnderAWeakMemory) {
  ForEachSeed(4000, [](uint64_t seed) { return Play(seed, true, 2); });
}

}  // namespace
}  // namespace kvpage::test
