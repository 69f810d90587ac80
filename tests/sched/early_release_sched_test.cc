// SPDX-License-Identifier: Apache-2.0
//
// Groups whose lanes all use a block that one of them gives back in the collective Release, under
// the seeded scheduler: the block's next owner must not come before the lanes are through with it.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "tests/sched/pool_world.h"
#include "tests/support/sched_warp.h"
#include "tests/support/test_seed.h"

namespace kvpage::test {
namespace {

// The group has the block alone, or shares it with a thread that lets go at any time.
std::string Play(uint64_t seed, uint32_t subgroups, uint32_t lanes, bool is_shared) {
  constexpr uint64_t kTag = 77;
  Random random(seed ^ 0xea71);
  Scheduler scheduler({.seed = seed});
  PoolWorld world(scheduler, {.num_blocks = 1, .gate_words = Placement::kContiguous}, {});
  const Pool& pool = world.pool();
  ThreadGroup setter;
  const BlockHandle handle = pool.Handle(1);
  world.Write(1, kTag);
  if (is_shared) {
    pool.Share(setter, handle);
    world.Join(1);
    scheduler.Spawn([&] {
      ThreadGroup me;
      world.Expect(1, kTag);
      world.Leave(1);
      if (pool.Release(me, handle) != OpStatus::kOk) scheduler.Fail("release of a held block");
    });
  }
  const uint32_t releaser = random.Below(subgroups * lanes);
  const bool by_handle = random.Percent(50);
  SpawnBlock(scheduler, subgroups, lanes, 0, [&](SchedBlock& g) {
    world.Expect(1, kTag);
    const bool releases = g.rank() == releaser;
    if (releases) world.Leave(1);
    const BlockHandle mine = releases ? handle : BlockHandle{kNullBlock, 0};
    const OpStatus status = by_handle ? pool.Release(g, mine) : pool.Release(g, mine.id);
    if (status != OpStatus::kOk) scheduler.Fail("release of a held block");
  });
  scheduler.Spawn([&] {
    ThreadGroup me;
    BlockId id = kNullBlock;
    for (uint32_t i = 0; i < 30; ++i) {
      if (pool.TryAllocate(me, 1, &id) == OpStatus::kOk) {
        world.Receive(id, kTag + 1);
        return;
      }
      SchedAtomics::Pause(i);
    }
  });
  if (!scheduler.Run()) return scheduler.failure();
  const std::string wrong = world.CheckAtRest();
  return wrong.empty() ? wrong : wrong + "\n" + scheduler.Trace();
}

TEST(EarlyReleaseSched, AWarpIsThroughWithABlockThatOneLaneReleases) {
  ForEachSeed(4000, [](uint64_t seed) { return Play(seed, 1, 2 + seed % 2, seed % 4 < 2); });
}

TEST(EarlyReleaseSched, AThreadBlockIsThroughWithABlockThatOneLaneReleases) {
  ForEachSeed(4000, [](uint64_t seed) { return Play(seed, 2, 1 + seed % 2, seed % 4 < 2); });
}

}  // namespace
}  // namespace kvpage::test
