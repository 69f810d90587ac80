// SPDX-License-Identifier: Apache-2.0
//
// Handles that go stale while somebody uses them, under the seeded scheduler: a share or release
// that comes too late must not touch the next life of the block, nor hide that the block is free.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "tests/sched/pool_world.h"
#include "tests/support/test_seed.h"

namespace kvpage::test {
namespace {

std::string Finish(Scheduler& scheduler, const PoolWorld& world) {
  if (!scheduler.Run()) return scheduler.failure();
  const std::string wrong = world.CheckAtRest();
  return wrong.empty() ? wrong : wrong + "\n" + scheduler.Trace();
}

// Waits for all n blocks of the pool, and has them for a while, as if it were their only user.
void TakeAllOnce(PoolWorld& world, Scheduler& scheduler, uint32_t n) {
  ThreadGroup me;
  BlockId ids[2];
  for (uint32_t i = 0; i < 15; ++i) {
    if (world.pool().TryAllocate(me, n, ids) == OpStatus::kOk) {
      for (uint32_t k = 0; k < n; ++k) world.Receive(ids[k], 99);
      for (uint32_t k = 0; k < 6; ++k) SchedAtomics::Pause(k);
      for (uint32_t k = 0; k < n; ++k) {
        world.Leave(ids[k]);
        const BlockHandle mine = world.pool().Handle(ids[k]);
        if (world.pool().Release(me, mine) != OpStatus::kOk) scheduler.Fail("an owner's release");
      }
      return;
    }
    SchedAtomics::Pause(i);
  }
}

// Two holders let go at once while two others try to share by handle.
std::string PlayTwoDroppersAndTwoSharers(uint64_t seed) {
  constexpr uint64_t kTag = 77;
  Random random(seed ^ 0x2d25);
  Scheduler scheduler({.seed = seed});
  PoolWorld world(scheduler, {.num_blocks = 2, .gate_words = Placement::kContiguous}, {1});
  const Pool& pool = world.pool();
  ThreadGroup setter;
  const BlockHandle handle = pool.Handle(2);
  pool.Share(setter, handle);
  world.Join(2);
  world.Write(2, kTag);
  for (int t = 0; t < 2; ++t) {
    scheduler.Spawn([&, by_handle = random.Percent(30)] {
      ThreadGroup me;
      world.Leave(2);
      const OpStatus status = by_handle ? pool.Release(me, handle) : pool.Release(me, handle.id);
      if (status != OpStatus::kOk) scheduler.Fail("release of a held block");
    });
  }
  for (int t = 0; t < 2; ++t) {
    scheduler.Spawn([&] {
      ThreadGroup me;
      if (pool.Share(me, handle) != OpStatus::kOk) return;
      world.Join(2);
      world.Expect(2, kTag);
      world.Leave(2);
      if (pool.Release(me, handle) != OpStatus::kOk) scheduler.Fail("release of a shared block");
    });
  }
  scheduler.Spawn([&] { TakeAllOnce(world, scheduler, 2); });
  return Finish(scheduler, world);
}

TEST(StaleHandleSched, AShareEndsWithTheLifeThatItMeant) {
  ForEachSeed(20000, PlayTwoDroppersAndTwoSharers);
}

// One thread releases the only block and takes it again, twice, and must get it each time; another
// tries to share its first life. Where that came too late, nobody else ever has the block.
std::string PlayStaleSharer(uint64_t seed, bool is_weak) {
  Scheduler scheduler({.seed = seed, .is_weak = is_weak});
  PoolWorld world(scheduler, {.num_blocks = 1, .gate_words = Placement::kContiguous}, {});
  const Pool& pool = world.pool();
  const BlockHandle handle = pool.Handle(1);
  uint32_t refusals = 0;
  bool was_shared = false;
  scheduler.Spawn([&] {
    ThreadGroup me;
    for (int i = 0; i < 2; ++i) {
      world.Leave(1);
      if (pool.Release(me, BlockId{1}) != OpStatus::kOk) scheduler.Fail("release of a held block");
      BlockId id = kNullBlock;
      if (pool.TryAllocate(me, 1, &id) != OpStatus::kOk) {
        ++refusals;
        return;
      }
      world.Receive(id, 1);
    }
  });
  scheduler.Spawn([&] {
    ThreadGroup me;
    if (pool.Share(me, handle) != OpStatus::kOk) return;
    was_shared = true;
    world.Join(1);
    world.Leave(1);
    if (pool.Release(me, handle) != OpStatus::kOk) scheduler.Fail("release of a shared block");
  });
  const std::string wrong = Finish(scheduler, world);
  if (!wrong.empty()) return wrong;
  return refusals == 0 || was_shared ? "" : "Full, but the block was free\n" + scheduler.Trace();
}

TEST(StaleHandleSched, AShareThatCameTooLateDoesNotHideAFreeBlock) {
  ForEachSeed(10000, [](uint64_t seed) { return PlayStaleSharer(seed, seed % 2 == 0); });
}

// Three threads release a block of two references by handle, while somebody waits for its next
// life: the third release is refused and harms nobody.
std::string PlayLateRelease(uint64_t seed) {
  Scheduler scheduler({.seed = seed});
  PoolWorld world(scheduler, {.num_blocks = 1, .gate_words = Placement::kContiguous}, {});
  const Pool& pool = world.pool();
  ThreadGroup setter;
  const BlockHandle handle = pool.Handle(1);
  pool.Share(setter, handle);
  world.Leave(1);
  uint32_t accepted = 0;
  uint32_t stale = 0;
  for (int t = 0; t < 3; ++t) {
    scheduler.Spawn([&] {
      ThreadGroup me;
      const OpStatus status = pool.Release(me, handle);
      accepted += status == OpStatus::kOk;
      stale += status == OpStatus::kStale;
    });
  }
  scheduler.Spawn([&] { TakeAllOnce(world, scheduler, 1); });
  const std::string wrong = Finish(scheduler, world);
  if (!wrong.empty()) return wrong;
  return accepted == 2 && stale == 1 ? "" : "the wrong answers\n" + scheduler.Trace();
}

TEST(StaleHandleSched, ALateReleaseTakesNothingFromTheNextLife) {
  ForEachSeed(20000, PlayLateRelease);
}

}  // namespace
}  // namespace kvpage::test
