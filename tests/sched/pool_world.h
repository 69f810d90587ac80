// SPDX-License-Identifier: Apache-2.0
//
// tests/sched/pool_world.h
//
// A block pool under the seeded scheduler of which only a few blocks are free, so that everybody
// wants the same ones. Each block has a checked variable in place of its KV memory; who holds what
// is counted beside the pool.

#ifndef KVPAGE_TESTS_SCHED_POOL_WORLD_H_
#define KVPAGE_TESTS_SCHED_POOL_WORLD_H_

#include <cstdint>
#include <string>
#include <vector>

#include "kvpage/core/block_pool_ref.h"
#include "tests/support/counter_history.h"
#include "tests/support/random.h"
#include "tests/support/sched_atomics.h"
#include "tests/support/sched_data.h"
#include "tests/support/scheduler.h"

namespace kvpage::test {

using Pool = BlockPoolRef<SchedAtomics>;

class PoolWorld {
 public:
  // A pool of which the blocks in `free` are free; the others are never given back.
  PoolWorld(Scheduler& scheduler, const BlockPoolOptions& options, const std::vector<BlockId>& free)
      : scheduler_(scheduler),
        words_(BlockPoolStorage::RequiredBytes(options) / sizeof(uint64_t)),
        storage_(CarveFrom(options)),
        pool_(storage_),
        data_(options.num_blocks + 1),
        holders_(options.num_blocks + 1, 0),
        history_(scheduler, static_cast<int64_t>(free.size())) {
    ThreadGroup me;
    pool_.Init(0, 1);
    std::vector<BlockId> ids(options.num_blocks);
    pool_.TryAllocate(me, options.num_blocks, ids.data());
    for (const BlockId id : ids) holders_[id] = 1;
    for (const BlockId id : free) {
      holders_[id] = 0;
      pool_.Release(me, id);
    }
    NameWords();
  }

  const BlockPoolStorage& storage() const { return storage_; }
  const Pool& pool() const { return pool_; }
  CounterHistory& history() { return history_; }

  // --- by a running thread ---

  // The thread was given the block: nobody else may have it, and all earlier accesses are over.
  void Receive(BlockId id, uint64_t tag) {
    if (id == kNullBlock || !pool_.IsBlock(id)) scheduler_.Fail("not a block");
    if (holders_[id]++ != 0) scheduler_.Fail("block " + std::to_string(id) + " has two owners");
    data_[id].Write(tag);
  }
  // Another holder of the same block.
  void Join(BlockId id) { ++holders_[id]; }
  void Expect(BlockId id, uint64_t tag) {
    if (data_[id].Read() != tag) scheduler_.Fail("somebody wrote to a held block");
  }
  void Write(BlockId id, uint64_t tag) { data_[id].Write(tag); }
  // The thread is about to give its reference back.
  void Leave(BlockId id) { --holders_[id]; }

  // --- when all threads have ended ---

  std::string CheckAtRest() const {
    const std::string wrong = CheckBits();
    return wrong.empty() ? history_.Check() : wrong;
  }

 private:
  BlockPoolStorage CarveFrom(const BlockPoolOptions& options) {
    Carver carver(words_.data());
    return BlockPoolStorage::Carve(carver, options);
  }

  void NameWords() {
    for (uint32_t s = 0; s < storage_.gate.num_shards; ++s) {
      const std::string shard = "[" + std::to_string(s) + "]";
      scheduler_.Name(pool_.gate().asked(s), "asked" + shard);
      scheduler_.Name(pool_.gate().granted(s), "granted" + shard);
      scheduler_.Name(pool_.gate().supply(s), "supply" + shard);
    }
    for (uint64_t i = 0; i < storage_.bits.num_summaries(); ++i) {
      scheduler_.Name(&storage_.bits.summaries[i], "summary[" + std::to_string(i) + "]");
    }
    for (uint64_t i = 0; i < storage_.bits.num_leaves(); ++i) {
      scheduler_.Name(&storage_.bits.leaves[i], "leaf[" + std::to_string(i) + "]");
    }
  }

  // Every block is either free or held, and all who count agree.
  std::string CheckBits() const {
    std::vector<int64_t> free(storage_.gate.num_shards, 0);
    for (BlockId id = 1; id <= pool_.num_blocks(); ++id) {
      const uint32_t leaf = pool_.bits().LeafOf(id);
      const bool is_free = (pool_.bits().Leaf(leaf) & pool_.bits().BitOf(id)) != 0;
      const std::string block = "at rest: block " + std::to_string(id);
      const BlockState state = pool_.words().State(id);
      if (is_free != (holders_[id] == 0)) return block + (is_free ? " is free" : " is lost");
      if (state.references != holders_[id]) return block + " has a wrong count";
      if (is_free && !pool_.bits().IsSummarized(leaf)) return block + " is hidden";
      if (is_free) ++free[pool_.bits().ShardOf(id)];
    }
    for (uint32_t s = 0; s < free.size(); ++s) {
      const int64_t credit = pool_.gate().FreeAtRest(s);
      if (credit < 0) return "at rest: a request is still open, or the lock is held";
      if (credit != free[s]) return "at rest: the gate and the bits disagree";
    }
    return "";
  }

  Scheduler& scheduler_;
  std::vector<uint64_t> words_;
  BlockPoolStorage storage_;
  Pool pool_;
  std::vector<SchedData<uint64_t>> data_;
  std::vector<int32_t> holders_;
  CounterHistory history_;
};

// A pool of one or two shards and up to two leaves each, with one to five blocks left in it.
struct PoolPlan {
  BlockPoolOptions options;
  std::vector<BlockId> free;
};

inline PoolPlan MakePoolPlan(Random& random) {
  PoolPlan plan;
  plan.options.blocks_per_shard = random.Percent(50) ? 64 : 128;
  static constexpr uint32_t kSizes[] = {3, 66, 130};
  plan.options.num_blocks = kSizes[random.Below(3)];
  plan.options.gate_words = Placement::kContiguous;
  const uint32_t wanted = random.Between(1, plan.options.num_blocks < 5 ? 3 : 5);
  std::vector<bool> is_free(plan.options.num_blocks + 1, false);
  while (plan.free.size() < wanted) {
    // Mostly at the beginnings of the leaves, so that the blocks share leaves as often as not.
    const uint32_t leaf = random.Below((plan.options.num_blocks + 63) / 64);
    BlockId id = leaf * 64 + random.Between(1, 2);
    if (id > plan.options.num_blocks || random.Percent(30)) {
      id = random.Between(1, plan.options.num_blocks);
    }
    if (is_free[id]) continue;
    is_free[id] = true;
    plan.free.push_back(id);
  }
  return plan;
}

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_SCHED_POOL_WORLD_H_
