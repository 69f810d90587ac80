// SPDX-License-Identifier: Apache-2.0
//
// tests/conformance/pool_workloads.h
//
// What groups do in a pool while a PoolSite watches, written once for every kind of group. A
// workload is a plain struct; each lane of each group calls
//   workload(group, unit, first_lane)
// once. Site is a PoolSite. `unit` numbers the threads, warps or thread blocks; a warp may come as
// several coalesced groups, which then have its number. first_lane is the number of the group's
// first lane among all lanes. Requests are made per lane, so that the sum over all groups does not
// depend on how the lanes are grouped.

#ifndef KVPAGE_TESTS_CONFORMANCE_POOL_WORKLOADS_H_
#define KVPAGE_TESTS_CONFORMANCE_POOL_WORKLOADS_H_

#include <cstdint>

#include "kvpage/core/group.h"
#include "kvpage/core/macros.h"
#include "tests/conformance/pool_site.h"

namespace kvpage::test {

// Takes n blocks for the group, which it then holds. Collective.
template <class Site, Group G>
KVPAGE_HOST_DEVICE OpStatus TakeFor(const Site& site, G& g, uint32_t first_lane, uint32_t n,
                                    BlockId* ids) {
  g.Sync();  // whoever read `ids` before is done
  const OpStatus status = site.pool().TryAllocate(g, n, ids);
  for (uint32_t i = g.rank(); i < n && status == OpStatus::kOk; i += g.size()) {
    site.Receive(ids[i], first_lane + g.rank() + 1);
  }
  return status;
}

// Gives them back. Collective.
template <class Site, Group G>
KVPAGE_HOST_DEVICE void GiveBackFor(const Site& site, G& g, uint32_t first_lane, uint32_t n,
                                    const BlockId* ids) {
  for (uint32_t base = 0; base < n; base += g.size()) {
    const uint32_t i = base + g.rank();
    const BlockId id = i < n ? ids[i] : kNullBlock;
    if (id != kNullBlock) site.Leave(id, first_lane + g.rank() + 1);
    site.Expect(site.pool().Release(g, id) == OpStatus::kOk);
  }
}

// Every lane takes a block for itself and gives it back; answers whether it got one. Collective.
template <class Site, Group G>
KVPAGE_HOST_DEVICE bool TakeAndGiveOne(const Site& site, G& g, uint32_t me) {
  const BlockId id = site.pool().TryAllocateOne(g);
  if (id != kNullBlock) {
    site.Receive(id, me);
    site.Leave(id, me);
  }
  site.Expect(site.pool().Release(g, id) == OpStatus::kOk);
  return id != kNullBlock;
}

// Random requests of random sizes, one of which is held while the next is made; shares; handles
// kept too long. Needs 2 * most_per_lane ids per lane.
template <class Site>
struct Churn {
  Site site;
  uint32_t rounds;
  uint32_t most_per_lane;
  uint64_t seed;

  template <Group G>
  KVPAGE_HOST_DEVICE void operator()(G& g, uint32_t, uint32_t first_lane) const {
    const uint32_t me = first_lane + g.rank() + 1;
    const uint32_t most = most_per_lane * g.size();
    Dice dice(seed, first_lane);  // the same throws in every lane
    BlockId* ids[2] = {site.Ids(first_lane), site.Ids(first_lane) + most};
    uint32_t held[2] = {0, 0};
    for (uint32_t round = 0; round < rounds + 2; ++round) {  // the last two only give back
      const uint32_t turn = round % 2;
      GiveBackFor(site, g, first_lane, held[turn], ids[turn]);
      if (round >= rounds) continue;
      const uint32_t n = 1 + dice.Below(most);
      const OpStatus status = TakeFor(site, g, first_lane, n, ids[turn]);
      site.Expect((status == OpStatus::kNeverFits) == (n > site.pool().num_blocks()));
      held[turn] = status == OpStatus::kOk ? n : 0;
      ShareAndKeepTooLong(g, me);
    }
  }

 private:
  template <Group G>
  KVPAGE_HOST_DEVICE void ShareAndKeepTooLong(G& g, uint32_t me) const {
    const auto pool = site.pool();
    const BlockId id = pool.TryAllocateOne(g);
    const bool has = id != kNullBlock;
    BlockHandle handle{};
    if (has) {
      site.Receive(id, me);
      handle = pool.Handle(id);
    }
    site.Expect(pool.Share(g, handle) == OpStatus::kOk);
    site.Expect(pool.Release(g, id) == OpStatus::kOk);
    if (has) site.Leave(id, me);
    site.Expect(pool.Release(g, handle) == OpStatus::kOk);
    const OpStatus late = has ? OpStatus::kStale : OpStatus::kOk;
    site.Expect(pool.Share(g, handle) == late);
    site.Expect(pool.Release(g, handle) == late);
  }
};

// Everybody takes and nobody gives back: per_lane blocks for each lane, all or none for the whole
// group, or with per_lane = 0 one for each lane that can have one.
template <class Site>
struct Exhaust {
  Site site;
  uint32_t per_lane;

  template <Group G>
  KVPAGE_HOST_DEVICE void operator()(G& g, uint32_t, uint32_t first_lane) const {
    if (per_lane == 0) {
      const BlockId id = site.pool().TryAllocateOne(g);
      if (id != kNullBlock) {
        site.Receive(id, first_lane + g.rank() + 1);
      } else {
        site.Count(&site.findings->full);
      }
      return;
    }
    const uint32_t n = per_lane * g.size();
    const OpStatus status = TakeFor(site, g, first_lane, n, site.Ids(first_lane));
    if (status == OpStatus::kOk || g.rank() != 0) return;
    site.Expect(status == OpStatus::kFull);
    site.Count(&site.findings->full);
    Site::Marks::FetchMinRelaxed(&site.findings->least_full, uint64_t{n});
  }
};

// Takes `blocks` blocks with one group and gives each `references` references in all. They lie in
// site.ids. Blocks whose holders will be many are to be left at once, as a free block is: later
// nobody can know who will be the last to let go.
template <class Site>
struct Hold {
  Site site;
  uint32_t blocks;
  uint32_t references;
  bool leave;

  template <Group G>
  KVPAGE_HOST_DEVICE void operator()(G& g, uint32_t unit, uint32_t first_lane) const {
    if (unit > 0 || first_lane > 0) return;
    site.Expect(TakeFor(site, g, 0, blocks, site.ids) == OpStatus::kOk);
    for (uint32_t base = 0; base < blocks; base += g.size()) {
      const uint32_t i = base + g.rank();
      const BlockId id = i < blocks ? site.ids[i] : kNullBlock;
      if (leave && id != kNullBlock) site.Leave(id, g.rank() + 1);
      if (id == kNullBlock || references == 1) continue;
      site.Expect(site.pool().words().Share(id, references - 1, Site::Pool::kAnyGeneration) ==
                  OpStatus::kOk);
    }
  }
};

// Many hold the same blocks (`shared`, one reference for each lane, the lanes in turn), read them,
// share them once more, and let go. Takers do the same later; before, they take what has become
// free and write to it.
template <class Site>
struct SharersAndTakers {
  Site site;
  const BlockId* shared;  // [num_shared]
  uint32_t num_shared;
  uint32_t takers;  // units
  uint32_t tries;   // of each taker

  template <Group G>
  KVPAGE_HOST_DEVICE void operator()(G& g, uint32_t unit, uint32_t first_lane) const {
    const uint32_t lane = first_lane + g.rank();
    for (uint32_t i = 0; unit < takers && i < tries; ++i) TakeAndGiveOne(site, g, lane + 1);
    const BlockId id = shared[lane % num_shared];
    const auto pool = site.pool();
    site.Expect(pool.Share(g, id) == OpStatus::kOk);
    site.LookAtFirstLife(id);
    site.Expect(pool.Release(g, id) == OpStatus::kOk);
    site.LookAtFirstLife(id);
    site.Expect(pool.Release(g, id) == OpStatus::kOk);
  }
};

// Every lane gives back the first of site.ids, which is in its first life: as many are told Ok as
// it had references, and once it has none, the others are told exactly why not.
template <class Site>
struct GiveBackTooOften {
  Site site;
  bool with_handle;
  bool is_free;  // already

  template <Group G>
  KVPAGE_HOST_DEVICE void operator()(G& g, uint32_t, uint32_t) const {
    const auto pool = site.pool();
    const BlockId id = site.ids[0];
    const OpStatus status = with_handle ? pool.Release(g, BlockHandle{id, 1}) : pool.Release(g, id);
    if (status == OpStatus::kOk) {
      site.Count(&site.findings->told_ok);
      site.Expect(!is_free);
    } else if (is_free) {
      site.Expect(status == (with_handle ? OpStatus::kStale : OpStatus::kDoubleFree));
    } else {
      site.Expect(status == OpStatus::kDoubleFree || (with_handle && status == OpStatus::kStale));
    }
  }
};

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_CONFORMANCE_POOL_WORKLOADS_H_
