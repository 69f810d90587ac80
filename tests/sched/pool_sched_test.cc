// SPDX-License-Identifier: Apache-2.0
//
// The block pool under the seeded scheduler and a weak memory, one thread per group: a block has
// one owner, its next owner sees everything the last one did, nothing free is ever hidden, and
// misuse is answered at the faulty call.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/sched/pool_world.h"
#include "tests/support/test_seed.h"

namespace kvpage::test {
namespace {

// One thread that allocates, uses, shares and releases blocks.
class Actor {
 public:
  Actor(PoolWorld& world, Scheduler& scheduler, uint32_t number, uint64_t seed)
      : world_(world), scheduler_(scheduler), me_(number), random_(seed), tag_(number * 1000) {}

  void Run(uint32_t operations, uint32_t most) {
    for (uint32_t i = 0; i < operations; ++i) {
      if (!mine_.empty() && random_.Percent(50)) {
        Release(random_.Below(static_cast<uint32_t>(mine_.size())));
      } else {
        Allocate(random_.Between(1, most));
      }
    }
    if (random_.Percent(70)) {
      while (!mine_.empty()) Release(0);
    }
  }

 private:
  struct Held {
    BlockId id;
    uint64_t tag;
  };

  void Allocate(uint32_t n) {
    std::vector<BlockId> ids(n, kNullBlock);
    const CounterHistory::Start start = world_.history().Begin();
    const OpStatus status = world_.pool().TryAllocate(me_, n, ids.data());
    if (status == OpStatus::kNeverFits) {
      if (n <= world_.pool().num_blocks()) scheduler_.Fail("NeverFits for what fits");
      return;
    }
    world_.history().EndReserve(start, n, status == OpStatus::kOk);
    for (const BlockId id : ids) {
      if (status == OpStatus::kOk) {
        mine_.push_back({id, ++tag_});
        world_.Receive(id, tag_);
      } else if (id != kNullBlock) {
        scheduler_.Fail("Full, but an id was written");
      }
    }
  }

  void Release(uint32_t index) {
    const Held held = mine_[index];
    mine_.erase(mine_.begin() + index);
    world_.Expect(held.id, held.tag);
    world_.Write(held.id, held.tag + 500);  // must be over before the next owner comes
    const BlockHandle handle = world_.pool().Handle(held.id);
    const CounterHistory::Start start = world_.history().Begin();
    world_.Leave(held.id);
    const OpStatus status = random_.Percent(50) ? world_.pool().Release(me_, held.id)
                                                : world_.pool().Release(me_, handle);
    world_.history().EndRelease(start, 1);
    if (status != OpStatus::kOk) scheduler_.Fail("release of a held block");
    if (!random_.Percent(30)) return;
    // The block may have a new owner by now, who must not suffer from these.
    if (world_.pool().Release(me_, handle) != OpStatus::kStale ||
        world_.pool().Share(me_, handle) != OpStatus::kStale) {
      scheduler_.Fail("a stale handle was taken");
    }
  }

  PoolWorld& world_;
  Scheduler& scheduler_;
  ThreadGroup me_;
  Random random_;
  uint64_t tag_;
  std::vector<Held> mine_;
};

std::string Finish(Scheduler& scheduler, const PoolWorld& world) {
  if (!scheduler.Run()) return scheduler.failure();
  const std::string wrong = world.CheckAtRest();
  return wrong.empty() ? wrong : wrong + "\n" + scheduler.Trace();
}

std::string PlayOwners(uint64_t seed, Scheduler::Turns turns, bool is_weak) {
  Random random(seed ^ 0x9001);
  const PoolPlan plan = MakePoolPlan(random);
  Scheduler scheduler({.seed = seed, .turns = turns, .is_weak = is_weak});
  PoolWorld world(scheduler, plan.options, plan.free);
  const uint32_t actors = random.Between(2, 4);
  for (uint32_t a = 0; a < actors; ++a) {
    const uint64_t program = random.Next();
    const uint32_t operations = random.Between(1, 5);
    // Some start their search in the same place, some elsewhere.
    const uint32_t spread = random.Percent(60) ? 0 : a;
    scheduler.Spawn([&, spread, program, operations] {
      Actor actor(world, scheduler, spread, program);
      actor.Run(operations, static_cast<uint32_t>(plan.free.size()));
    });
  }
  return Finish(scheduler, world);
}

TEST(BlockPoolSched, NextOwnerSeesEverythingUnderAWeakMemory) {
  ForEachSeed(20000,
              [](uint64_t seed) { return PlayOwners(seed, Scheduler::Turns::kRandom, true); });
}

TEST(BlockPoolSched, AnswersAreLinearizableInTime) {
  ForEachSeed(10000,
              [](uint64_t seed) { return PlayOwners(seed, Scheduler::Turns::kRandom, false); });
}

TEST(BlockPoolSched, NoFairScheduleKeepsActorsBusyForEver) {
  ForEachSeed(10000,
              [](uint64_t seed) { return PlayOwners(seed, Scheduler::Turns::kLooped, false); });
}

// The first thread owns a block and hands its handle round; the others try to share it, read it
// and let go, while the first one lets go and somebody else already waits for the block.
std::string PlaySharers(uint64_t seed) {
  constexpr uint64_t kTag = 77;
  Random random(seed ^ 0x54a5);
  Scheduler scheduler({.seed = seed});
  PoolWorld world(scheduler, {.num_blocks = 3, .gate_words = Placement::kContiguous}, {1});
  const Pool& pool = world.pool();
  uint64_t mailbox = 0;
  const uint32_t extra = random.Below(3);  // references that the owner takes for others

  scheduler.Spawn([&] {
    ThreadGroup me;
    BlockId id = kNullBlock;
    if (pool.TryAllocate(me, 1, &id) != OpStatus::kOk) return;
    world.Receive(id, kTag);
    const BlockHandle handle = pool.Handle(id);
    for (uint32_t i = 0; i < extra; ++i) {
      if (pool.Share(me, id) != OpStatus::kOk) scheduler.Fail("share of a held block");
      world.Join(id);
    }
    SchedAtomics::StoreRelease(&mailbox, uint64_t{handle.generation} << 32 | handle.id);
    for (uint32_t i = 0; i < extra + 1; ++i) {
      world.Expect(id, kTag);
      world.Leave(id);
      if (pool.Release(me, id) != OpStatus::kOk) scheduler.Fail("release of a held block");
    }
  });
  const uint32_t sharers = random.Between(1, 2);
  for (uint32_t t = 0; t < sharers; ++t) {
    scheduler.Spawn([&] {
      ThreadGroup me;
      uint64_t mail = 0;
      for (uint32_t i = 0; i < 20 && mail == 0; ++i) {
        mail = SchedAtomics::LoadAcquire(&mailbox);
        SchedAtomics::Pause(i);
      }
      if (mail == 0) return;
      const BlockHandle handle{static_cast<BlockId>(mail), static_cast<uint32_t>(mail >> 32)};
      const OpStatus status = pool.Share(me, handle);
      if (status == OpStatus::kStale) return;
      if (status != OpStatus::kOk) scheduler.Fail("share of a handle");
      world.Join(handle.id);
      world.Expect(handle.id, kTag);
      world.Leave(handle.id);
      if (pool.Release(me, handle) != OpStatus::kOk) scheduler.Fail("release of a shared block");
    });
  }
  scheduler.Spawn([&] {
    ThreadGroup me;
    BlockId id = kNullBlock;
    for (uint32_t i = 0; i < 20; ++i) {
      if (pool.TryAllocate(me, 1, &id) == OpStatus::kOk) {
        world.Receive(id, 99);
        world.Leave(id);
        pool.Release(me, id);
      }
      SchedAtomics::Pause(i);
    }
  });
  if (!scheduler.Run()) return scheduler.failure();
  const std::string wrong = world.CheckAtRest();
  return wrong.empty() ? wrong : wrong + "\n" + scheduler.Trace();
}

TEST(BlockPoolSched, TheLastHolderOfASharedBlockFreesIt) { ForEachSeed(20000, PlaySharers); }

// Two threads release the only reference: one of them is told so, and nothing is freed twice.
std::string PlayDoubleFree(uint64_t seed) {
  Random random(seed ^ 0xdf);
  Scheduler scheduler({.seed = seed});
  PoolWorld world(scheduler, {.num_blocks = 2, .gate_words = Placement::kContiguous}, {1});
  const bool by_handle = random.Percent(50);
  const BlockHandle handle = world.pool().Handle(2);
  const uint32_t rivals = random.Between(2, 3);
  std::vector<OpStatus> answers(rivals, OpStatus::kInvalid);
  for (uint32_t t = 0; t < rivals; ++t) {
    scheduler.Spawn([&, t] {
      ThreadGroup me;
      answers[t] =
          by_handle ? world.pool().Release(me, handle) : world.pool().Release(me, handle.id);
    });
  }
  // Who is refused changes nothing, not even for an instant.
  scheduler.Spawn([&] {
    for (uint32_t i = 0; i < 10; ++i) {
      if (world.pool().words().State(2).references < 0) scheduler.Fail("a count below zero");
    }
  });
  world.Leave(2);
  if (!scheduler.Run()) return scheduler.failure();
  const auto winners = std::count(answers.begin(), answers.end(), OpStatus::kOk);
  const auto losers = std::count_if(answers.begin(), answers.end(), [](OpStatus s) {
    return s == OpStatus::kDoubleFree || s == OpStatus::kStale;
  });
  if (winners != 1 || losers != rivals - 1) return "the wrong answers\n" + scheduler.Trace();
  const std::string wrong = world.CheckAtRest();
  return wrong.empty() ? wrong : wrong + "\n" + scheduler.Trace();
}

TEST(BlockPoolSched, OneOfTwoReleasesIsADoubleFree) { ForEachSeed(5000, PlayDoubleFree); }

// One thread releases, another takes: once the gate has said yes, the block is there, and the taker
// finds it without waiting for the releaser to go on.
std::string PlayBitsBeforeCredit(uint64_t seed) {
  Random random(seed ^ 0xb17);
  Scheduler scheduler({.seed = seed, .is_weak = false, .max_steps = 2000});
  PoolWorld world(scheduler, {.num_blocks = 3, .gate_words = Placement::kContiguous},
                  random.Percent(50) ? std::vector<BlockId>{} : std::vector<BlockId>{2});
  scheduler.Spawn([&] {
    ThreadGroup me;
    for (const BlockId id : {1, 3}) {
      world.Leave(id);
      world.pool().Release(me, id);
    }
  });
  scheduler.Spawn([&] {
    ThreadGroup me;
    for (uint32_t i = 0; i < 20; ++i) {
      world.pool().gate().Take(me, 1, 0, [&](auto w, uint32_t shard, uint32_t n, uint32_t) {
        scheduler.SetSolo(true);
        const FreeBitsRef<SchedAtomics>& bits = world.pool().bits();
        bits.Claim(w, shard, n, 0, bits.Look(w, shard, 0),
                   [&](auto& lanes, uint32_t, const ClaimedBlocks& claimed) {
                     const BlockId id = claimed.Get(lanes, 0);
                     world.pool().words().Own(id);
                     world.Join(id);
                   });
        scheduler.SetSolo(false);
      });
      SchedAtomics::Pause(i);
    }
  });
  if (!scheduler.Run()) return scheduler.failure();
  const std::string wrong = world.CheckAtRest();
  return wrong.empty() ? wrong : wrong + "\n" + scheduler.Trace();
}

TEST(BlockPoolSched, AGrantedBlockIsFoundAtOnce) { ForEachSeed(3000, PlayBitsBeforeCredit); }

}  // namespace
}  // namespace kvpage::test
