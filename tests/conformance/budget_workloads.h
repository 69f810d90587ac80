// SPDX-License-Identifier: Apache-2.0
//
// tests/conformance/budget_workloads.h
//
// Workloads (pool_workloads.h) in which some keep to budgets that leave enough for everybody, while
// others ask for more than can be free: the modest must never be told Full.

#ifndef KVPAGE_TESTS_CONFORMANCE_BUDGET_WORKLOADS_H_
#define KVPAGE_TESTS_CONFORMANCE_BUDGET_WORKLOADS_H_

#include <cstdint>

#include "tests/conformance/pool_workloads.h"

namespace kvpage::test {

// The budgets of all who take add up to what is free, so that nobody but the greedy may ever be
// told Full: units below `gatherers` take gather_per_lane blocks per lane at once, the next
// `greedy` units ask for `impossible` blocks, which are never free together, and the others are
// modest: one block for each lane.
template <class Site>
struct Budgets {
  Site site;
  uint32_t rounds;
  uint32_t gatherers;
  uint32_t gather_per_lane;
  uint32_t greedy;
  uint32_t impossible;

  template <Group G>
  KVPAGE_HOST_DEVICE void operator()(G& g, uint32_t unit, uint32_t first_lane) const {
    BlockId* ids = site.Ids(first_lane);
    const uint32_t n = gather_per_lane * g.size();
    for (uint32_t round = 0; round < rounds; ++round) {
      if (unit < gatherers) {
        const OpStatus status = TakeFor(site, g, first_lane, n, ids);
        if (status == OpStatus::kOk) GiveBackFor(site, g, first_lane, n, ids);
        CountFull(status != OpStatus::kOk);
      } else if (unit < gatherers + greedy) {
        // It writes nothing, so the ids of nobody will do.
        const uint32_t wish = impossible + round % (site.pool().num_blocks() - impossible + 1);
        site.Expect(site.pool().TryAllocate(g, wish, ids) == OpStatus::kFull);
      } else {
        CountFull(!TakeAndGiveOne(site, g, first_lane + g.rank() + 1));
      }
    }
  }

 private:
  KVPAGE_HOST_DEVICE void CountFull(bool full) const {
    if (full) site.Count(&site.findings->full);
  }
};

// Gives back `count` of the `held` blocks of Hold, evenly spread over them.
template <class Site>
struct LetGo {
  Site site;
  uint32_t held;
  uint32_t count;

  template <Group G>
  KVPAGE_HOST_DEVICE void operator()(G& g, uint32_t unit, uint32_t first_lane) const {
    if (unit > 0 || first_lane > 0) return;
    for (uint32_t base = 0; base < count; base += g.size()) {
      const uint64_t i = base + g.rank();
      const BlockId id = i < count ? site.ids[i * held / count] : kNullBlock;
      site.Expect(site.pool().Release(g, id) == OpStatus::kOk);
    }
  }
};

// Rotators hold one block per lane at all times, for a moment two: they take the next before they
// give the last one back. So which blocks are free keeps changing, and who adds up what the shards
// show one after another can see more than there ever are. That is what the greedy units ask for,
// so that they gather in vain while the rotators, who stay in their budget, must never be told
// Full. Run it once for each phase.
enum class RotatePhase { kTakeFirst, kRotate, kGiveBack };

template <class Site>
struct Rotate {
  Site site;
  RotatePhase phase;
  uint32_t rounds;
  uint32_t greedy;      // units
  uint32_t impossible;  // blocks

  template <Group G>
  KVPAGE_HOST_DEVICE void operator()(G& g, uint32_t unit, uint32_t first_lane) const {
    const uint32_t lane = first_lane + g.rank();
    const auto pool = site.pool();
    if (unit < greedy) {
      for (uint32_t i = 0; phase == RotatePhase::kRotate && i < rounds; ++i) {
        site.Expect(pool.TryAllocate(g, impossible, site.ids) == OpStatus::kFull);
      }
      return;
    }
    BlockId last = phase == RotatePhase::kTakeFirst ? kNullBlock : site.ids[lane];
    const uint32_t turns = phase == RotatePhase::kRotate ? rounds : 1;
    for (uint32_t i = 0; i < turns; ++i) {
      BlockId next = kNullBlock;
      if (phase != RotatePhase::kGiveBack) {
        auto w = g.subgroup();
        next = pool.TryAllocateOne(w);
        if (next != kNullBlock) {
          site.Receive(next, lane + 1);
        } else {
          site.Count(&site.findings->full);
        }
      }
      if (last != kNullBlock) site.Leave(last, lane + 1);
      site.Expect(pool.Release(g, last) == OpStatus::kOk);
      last = next;
    }
    site.ids[lane] = last;
  }
};

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_CONFORMANCE_BUDGET_WORKLOADS_H_
