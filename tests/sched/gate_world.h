// SPDX-License-Identifier: Apache-2.0
//
// tests/sched/gate_world.h
//
// A gate of a few blocks under the seeded scheduler: actors that reserve and release, what they
// own, what they were told, and what must hold when all is quiet.

#ifndef KVPAGE_TESTS_SCHED_GATE_WORLD_H_
#define KVPAGE_TESTS_SCHED_GATE_WORLD_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "kvpage/core/exact_gate.h"
#include "tests/support/counter_history.h"
#include "tests/support/random.h"
#include "tests/support/sched_atomics.h"
#include "tests/support/scheduler.h"

namespace kvpage::test {

using Gate = ExactGateRef<SchedAtomics>;
// Blocks per shard.
using Counts = std::array<uint32_t, 3>;

inline uint32_t Total(const Counts& counts) { return counts[0] + counts[1] + counts[2]; }

class GateWorld {
 public:
  // A gate with `blocks` in its shards, of which `owned` are taken before the first step.
  GateWorld(Scheduler& scheduler, uint32_t num_shards, const Counts& blocks, const Counts& owned)
      : scheduler_(scheduler),
        words_(GateStorage::NumWords(num_shards, 1)),
        gate_(GateStorage{words_.data(), num_shards, 1, Total(blocks)}),
        blocks_(blocks),
        taken_(owned),
        history_(scheduler, int64_t{Total(blocks)} - Total(owned)) {
    for (uint32_t s = 0; s < num_shards; ++s) {
      gate_.Init(s, blocks[s]);
      *gate_.asked(s) = *gate_.granted(s) = owned[s];
      scheduler.Name(gate_.asked(s), "asked[" + std::to_string(s) + "]");
      scheduler.Name(gate_.granted(s), "granted[" + std::to_string(s) + "]");
      scheduler.Name(gate_.supply(s), "supply[" + std::to_string(s) + "]");
    }
    scheduler.Name(gate_.lock(), "lock");
  }

  const Gate& gate() const { return gate_; }
  uint32_t num_shards() const { return gate_.num_shards(); }
  CounterHistory& history() { return history_; }

  // --- by a running thread ---

  // Counts blocks as handed out; more than a shard has is a failure.
  void Hand(uint32_t shard, uint32_t count, Counts& mine) {
    taken_[shard] += count;
    if (taken_[shard] > blocks_[shard]) scheduler_.Fail("a block was handed out twice");
    mine[shard] += count;
  }

  // Makes blocks free again; the caller has executed F1.
  void Credit(uint32_t shard, uint32_t count) {
    taken_[shard] -= count;
    gate_.Credit(shard, count);
  }

  // Reserves n blocks for one thread and adds them to `mine`. Returns whether it got them.
  bool Reserve(uint32_t n, uint32_t home, Counts& mine) {
    ThreadGroup me;
    const CounterHistory::Start start = history_.Begin();
    uint32_t handed = 0;
    const OpStatus status =
        gate_.Take(me, n, home, [&](auto&&, uint32_t shard, uint32_t count, uint32_t offset) {
          if (offset != handed) scheduler_.Fail("the parts do not follow one another");
          handed += count;
          Hand(shard, count, mine);
        });
    if (status == OpStatus::kNeverFits) {
      if (n <= Total(blocks_)) scheduler_.Fail("NeverFits for what fits");
      return false;
    }
    const bool ok = status == OpStatus::kOk;
    if (handed != (ok ? n : 0)) scheduler_.Fail("the parts do not add up to the request");
    history_.EndReserve(start, n, ok);
    return ok;
  }

  // Gives `counts` of `mine` back, shard by shard, under one fence.
  void Release(const Counts& counts, Counts& mine) {
    const CounterHistory::Start start = history_.Begin();
    SchedAtomics::FenceAcqRel();  // F1, the caller's part
    for (uint32_t s = 0; s < num_shards(); ++s) {
      if (counts[s] == 0) continue;
      mine[s] -= counts[s];
      Credit(s, counts[s]);
      history_.EndRelease(start, counts[s]);
    }
  }

  // Asks for the bounds of the free count.
  void Count() {
    const CounterHistory::Start start = history_.Begin();
    const Gate::Bounds bounds = gate_.FreeBounds();
    history_.EndAtLeast(start, bounds.lower);
    history_.EndAtMost(start, bounds.upper);
  }

  // --- when all threads have ended ---

  // What is wrong, empty if nothing is.
  std::string CheckAtRest() const {
    for (uint32_t s = 0; s < num_shards(); ++s) {
      const int64_t free = gate_.FreeAtRest(s);
      if (free < 0) return "at rest: a request is still open, or the lock is held";
      if (free != int64_t{blocks_[s]} - taken_[s]) return "at rest: credits were lost or made";
    }
    return history_.Check();
  }

 private:
  Scheduler& scheduler_;
  std::vector<uint64_t> words_;
  Gate gate_;
  Counts blocks_;
  Counts taken_;  // by the test's own count
  CounterHistory history_;
};

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_SCHED_GATE_WORLD_H_
