// SPDX-License-Identifier: Apache-2.0
//
// tests/support/sched_warp.h
//
// Warps and thread blocks of any number of lanes whose lanes are threads of the seeded scheduler.
// As on a GPU, shuffles and sums order nothing in memory; only Sync() does, so a forgotten Sync()
// shows up as a stale value or a data race. Lanes that make different collective calls, or that
// wait for one another for ever, fail the run.
//
// Example:
//   SpawnWarp(scheduler, 4, 0, [&](SchedWarp& warp) { ... });

#ifndef KVPAGE_TESTS_SUPPORT_SCHED_WARP_H_
#define KVPAGE_TESTS_SUPPORT_SCHED_WARP_H_

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/scheduler.h"
#include "tests/support/team_group.h"

namespace kvpage::test {

class SchedTeam {
 public:
  SchedTeam(Scheduler& scheduler, uint32_t size)
      : scheduler_(scheduler),
        size_(size),
        items_{std::vector<TeamItem>(size), std::vector<TeamItem>(size)},
        published_{std::vector<uint64_t>(size), std::vector<uint64_t>(size)},
        publications_(size, 0) {}

  uint32_t size() const { return size_; }

  const TeamItem* Meet(uint32_t rank, const TeamItem& item) { return Meet(rank, item, false); }
  void Sync(uint32_t rank) { Meet(rank, {"Sync", 0, 0, true}, true); }
  uint64_t* published(uint32_t rank) { return published_[publications_[rank]++ % 2].data(); }

 private:
  const TeamItem* Meet(uint32_t rank, const TeamItem& item, bool is_barrier) {
    scheduler_.Step();
    const uint64_t meeting = meeting_;
    std::vector<TeamItem>& items = items_[meeting % 2];
    items[rank] = item;
    if (!present_.empty() && std::strcmp(kind_, item.kind) != 0) {
      scheduler_.Fail("lane " + std::to_string(rank) + " calls " + item.kind + ", others " + kind_);
    }
    kind_ = item.kind;
    present_.push_back(scheduler_.self());
    if (present_.size() == size_) {
      if (is_barrier) scheduler_.memory().Barrier(present_);
      for (const uint32_t thread : present_) scheduler_.Wake(thread);
      present_.clear();
      ++meeting_;
    }
    while (meeting_ == meeting) scheduler_.Sleep();
    return items.data();
  }

  Scheduler& scheduler_;
  uint32_t size_;
  uint64_t meeting_ = 0;
  const char* kind_ = "";
  std::vector<uint32_t> present_;
  std::array<std::vector<TeamItem>, 2> items_;
  std::array<std::vector<uint64_t>, 2> published_;
  std::vector<uint32_t> publications_;
};

using SchedWarp = TeamGroup<SchedTeam, 1>;
using SchedBlock = SchedWarp;

static_assert(Group<SchedWarp>);

// Adds a thread block: `subgroups` warps of `lanes` lanes each, every lane running body(group).
inline void SpawnBlock(Scheduler& scheduler, uint32_t subgroups, uint32_t lanes, uint32_t spread,
                       const std::function<void(SchedBlock&)>& body) {
  const auto whole = std::make_shared<SchedTeam>(scheduler, subgroups * lanes);
  for (uint32_t w = 0; w < subgroups; ++w) {
    const auto warp = subgroups == 1 ? whole : std::make_shared<SchedTeam>(scheduler, lanes);
    for (uint32_t l = 0; l < lanes; ++l) {
      scheduler.Spawn([=] {
        SchedBlock group(*whole, *warp, w * lanes + l, w, spread);
        body(group);
      });
    }
  }
}

// Adds a warp of `lanes` lanes, every lane running body(group).
inline void SpawnWarp(Scheduler& scheduler, uint32_t lanes, uint32_t spread,
                      const std::function<void(SchedWarp&)>& body) {
  SpawnBlock(scheduler, 1, lanes, spread, body);
}

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_SUPPORT_SCHED_WARP_H_
