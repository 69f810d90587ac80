// SPDX-License-Identifier: Apache-2.0
//
// Batches that reserve rows of a page table while other batches and single requests draw from the
// same pool, under the seeded scheduler: every row's answer is exact, every block has one owner.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kvpage/core/append_rows.h"
#include "kvpage/core/release_rows.h"
#include "tests/sched/pool_world.h"
#include "tests/support/sched_warp.h"
#include "tests/support/test_seed.h"

namespace kvpage::test {
namespace {

constexpr uint32_t kRows = 3;
constexpr uint32_t kRowBlocks = 4;

// A page table and the batches on it, run by one group.
class BatchActor {
 public:
  BatchActor(PoolWorld& world, Scheduler& scheduler, uint64_t seed, uint32_t most)
      : world_(world),
        scheduler_(scheduler),
        memory_(PageTableStorage::RequiredBytes(kOptions) / sizeof(uint64_t)),
        table_(Carve()),
        needs_(kRows),
        statuses_(kRows, OpStatus::kInvalid) {
    table_.Init(0, 1);
    Random random(seed);
    for (int32_t& need : needs_) need = static_cast<int32_t>(random.Between(0, most));
    failure_ = random.Percent(40) ? FailureMode::kWholeBatch : FailureMode::kPerRow;
    closes_ = random.Percent(60);
  }

  template <class G>
  void Run(G& g) {
    if (g.rank() == 0) start_ = world_.history().Begin();
    const ReserveBatch reserve{{rows_, kRows, statuses_.data(), nullptr, failure_}, needs_.data()};
    if (!typename AppendRows<SchedAtomics, G>::Step(g, world_.pool(), table_, world_.storage(),
                                                    reserve)
             .Try()) {
      g.Sync();
      AppendRows<SchedAtomics, G>(g, world_.pool(), table_, reserve).Run();
    }
    g.Sync();
    if (g.rank() == 0) Received();
    g.Sync();
    if (!closes_) return;
    if (g.rank() == 0) Leaving();
    g.Sync();
    const CloseBatch close{{rows_, kRows, statuses_.data()}};
    ReleaseRows<SchedAtomics, G>(g, world_.pool(), table_, close).Run();
    g.Sync();
    if (g.rank() == 0) {
      for (uint32_t i = 0; i < left_; ++i) world_.history().EndRelease(start_, 1);
    }
  }

 private:
  static constexpr PageTableOptions kOptions = {
      .max_sequences = kRows, .max_blocks_per_sequence = kRowBlocks, .block_tokens = 1};

  PageTableStorage Carve() {
    Carver carver(memory_.data());
    return PageTableStorage::Carve(carver, kOptions);
  }

  // Checks the answers against what the rows hold, and takes the blocks over.
  void Received() {
    const bool is_all = std::all_of(statuses_.begin(), statuses_.end(),
                                    [](OpStatus s) { return s == OpStatus::kOk; });
    int64_t sum = 0;
    for (uint32_t i = 0; i < kRows; ++i) {
      sum += needs_[i];
      const bool ok = statuses_[i] == OpStatus::kOk;
      for (uint32_t k = 0; k < kRowBlocks; ++k) {
        const BlockId id = table_.Entry(i, k);
        if ((id != kNullBlock) != (ok && k < static_cast<uint32_t>(needs_[i]))) {
          scheduler_.Fail("a row does not hold what it was told");
        }
        if (id != kNullBlock) world_.Receive(id, kTag + i);
      }
      if (failure_ == FailureMode::kPerRow) {
        if (!ok && statuses_[i] != OpStatus::kFull) scheduler_.Fail("wrong status of a row");
        world_.history().EndReserve(start_, needs_[i], ok);
      } else if (ok != is_all) {
        scheduler_.Fail("some rows of an all-or-none batch");
      }
    }
    if (failure_ == FailureMode::kWholeBatch) world_.history().EndReserve(start_, sum, is_all);
  }

  void Leaving() {
    for (uint32_t i = 0; i < kRows; ++i) {
      for (uint32_t k = 0; k < kRowBlocks; ++k) {
        const BlockId id = table_.Entry(i, k);
        if (id == kNullBlock) continue;
        world_.Expect(id, kTag + i);
        world_.Write(id, 0);
        world_.Leave(id);
        ++left_;
      }
    }
    start_ = world_.history().Begin();
  }

  static constexpr uint64_t kTag = 1000;

  PoolWorld& world_;
  Scheduler& scheduler_;
  std::vector<uint64_t> memory_;
  PageTableRef<SchedAtomics> table_;
  int32_t rows_[kRows] = {0, 1, 2};
  std::vector<int32_t> needs_;
  std::vector<OpStatus> statuses_;
  FailureMode failure_;
  bool closes_;
  uint32_t left_ = 0;
  CounterHistory::Start start_;
};

// Takes some blocks and gives them back, a few times.
void ActAlone(PoolWorld& world, Scheduler& scheduler, uint64_t seed, uint32_t most) {
  ThreadGroup me;
  Random random(seed);
  for (uint32_t i = random.Between(1, 2); i > 0; --i) {
    const uint32_t n = random.Between(1, most);
    std::vector<BlockId> ids(n);
    CounterHistory::Start start = world.history().Begin();
    const OpStatus status = world.pool().TryAllocate(me, n, ids.data());
    if (status == OpStatus::kNeverFits) continue;
    world.history().EndReserve(start, n, status == OpStatus::kOk);
    if (status != OpStatus::kOk) continue;
    for (const BlockId id : ids) world.Receive(id, 1);
    for (const BlockId id : ids) {
      world.Write(id, 2);
      world.Leave(id);
      start = world.history().Begin();
      if (world.pool().Release(me, id) != OpStatus::kOk) scheduler.Fail("release of a held block");
      world.history().EndRelease(start, 1);
    }
  }
}

std::string Play(uint64_t seed, Scheduler::Turns turns, bool is_weak) {
  Random random(seed ^ 0xba7c);
  PoolPlan plan = MakePoolPlan(random);
  plan.options.num_blocks = std::max(plan.options.num_blocks, 3 * kRowBlocks);
  const auto most = static_cast<uint32_t>(std::min<size_t>(plan.free.size(), kRowBlocks));
  Scheduler scheduler({.seed = seed, .turns = turns, .is_weak = is_weak, .max_steps = 100000});
  PoolWorld world(scheduler, plan.options, plan.free);
  std::vector<std::unique_ptr<BatchActor>> batches;
  const uint32_t num_batches = random.Between(1, 2);
  for (uint32_t i = 0; i < num_batches; ++i) {
    BatchActor& batch =
        *batches.emplace_back(std::make_unique<BatchActor>(world, scheduler, random.Next(), most));
    if (random.Percent(50)) {
      scheduler.Spawn([&] {
        ThreadGroup me;
        batch.Run(me);
      });
    } else {
      const uint32_t subgroups = random.Between(1, 2);
      SpawnBlock(scheduler, subgroups, random.Between(1, 2), 0,
                 [&](SchedBlock& g) { batch.Run(g); });
    }
  }
  for (uint32_t i = random.Between(1, 2); i > 0; --i) {
    const uint64_t program = random.Next();
    scheduler.Spawn([&, program] { ActAlone(world, scheduler, program, most); });
  }
  if (!scheduler.Run()) return scheduler.failure();
  const std::string wrong = world.CheckAtRest();
  return wrong.empty() ? wrong : wrong + "\n" + scheduler.Trace();
}

TEST(BatchSched, RowsGetExactAnswersUnderAWeakMemory) {
  ForEachSeed(8000, [](uint64_t seed) { return Play(seed, Scheduler::Turns::kRandom, true); });
}

TEST(BatchSched, RowsGetExactAnswersInTime) {
  ForEachSeed(8000, [](uint64_t seed) { return Play(seed, Scheduler::Turns::kRandom, false); });
}

TEST(BatchSched, NoFairScheduleKeepsBatchesBusyForEver) {
  ForEachSeed(4000, [](uint64_t seed) { return Play(seed, Scheduler::Turns::kLooped, false); });
}

}  // namespace
}  // namespace kvpage::test
