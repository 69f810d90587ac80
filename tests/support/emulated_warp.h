// SPDX-License-Identifier: Apache-2.0
//
// tests/support/emulated_warp.h
//
// Warps and thread blocks on the CPU: each lane is a std::thread, and they meet at a barrier. It
// runs warp-collective code with real parallelism, and under ThreadSanitizer. Since a meeting is a
// barrier, a forgotten Sync() cannot be seen here; tests/support/sched_warp.h sees it.
//
// Example:
//   RunWarps(2, [&](EmulatedWarp& warp) { total += warp.rank() == 0 ? warp.size() : 0; });

#ifndef KVPAGE_TESTS_SUPPORT_EMULATED_WARP_H_
#define KVPAGE_TESTS_SUPPORT_EMULATED_WARP_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "tests/support/team_group.h"

namespace kvpage::test {

class ThreadTeam {
 public:
  explicit ThreadTeam(uint32_t size)
      : size_(size),
        items_{std::vector<TeamItem>(size), std::vector<TeamItem>(size)},
        published_{std::vector<uint64_t>(size), std::vector<uint64_t>(size)},
        turns_(size) {}

  uint32_t size() const { return size_; }

  const TeamItem* Meet(uint32_t rank, const TeamItem& item) {
    // Two arrays in turn: a lane that is ahead cannot overwrite what a slower one still reads.
    std::vector<TeamItem>& items = items_[turns_[rank].meetings++ % 2];
    items[rank] = item;
    ArriveAndWait();
    if (std::strcmp(items[0].kind, item.kind) != 0) {
      std::fprintf(stderr, "lane %u is in %s, lane 0 in %s\n", rank, item.kind, items[0].kind);
      std::abort();
    }
    return items.data();
  }
  void Sync(uint32_t rank) { Meet(rank, {"Sync", 0, 0, true}); }
  uint64_t* published(uint32_t rank) { return published_[turns_[rank].publications++ % 2].data(); }

 private:
  struct alignas(64) Turns {  // touched by one lane
    uint32_t meetings = 0;
    uint32_t publications = 0;
  };

  void ArriveAndWait() {
    const uint32_t phase = phase_.load(std::memory_order_relaxed);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == size_) {
      arrived_.store(0, std::memory_order_relaxed);
      phase_.store(phase + 1, std::memory_order_release);
      phase_.notify_all();
      return;
    }
    while (phase_.load(std::memory_order_acquire) == phase) {
      phase_.wait(phase, std::memory_order_acquire);
    }
  }

  uint32_t size_;
  std::atomic<uint32_t> arrived_{0};
  std::atomic<uint32_t> phase_{0};
  std::array<std::vector<TeamItem>, 2> items_;
  std::array<std::vector<uint64_t>, 2> published_;
  std::vector<Turns> turns_;
};

inline constexpr uint32_t kWarpLanes = 32;

using EmulatedWarp = TeamGroup<ThreadTeam, kWarpLanes>;
// A thread block is the same type with more lanes, and warps as its subgroups.
using EmulatedBlock = EmulatedWarp;

static_assert(Group<EmulatedWarp>);

// Runs body(EmulatedBlock&) in every lane of `num_blocks` blocks of `warps_per_block` warps.
template <class Body>
void RunBlocks(uint32_t num_blocks, uint32_t warps_per_block, Body body) {
  std::vector<std::unique_ptr<ThreadTeam>> teams;
  std::vector<std::thread> lanes;
  for (uint32_t b = 0; b < num_blocks; ++b) {
    ThreadTeam* whole =
        teams.emplace_back(std::make_unique<ThreadTeam>(warps_per_block * kWarpLanes)).get();
    for (uint32_t w = 0; w < warps_per_block; ++w) {
      ThreadTeam* warp = warps_per_block == 1
                             ? whole
                             : teams.emplace_back(std::make_unique<ThreadTeam>(kWarpLanes)).get();
      for (uint32_t l = 0; l < kWarpLanes; ++l) {
        lanes.emplace_back([=] {
          EmulatedBlock group(*whole, *warp, w * kWarpLanes + l, w, b * warps_per_block);
          body(group);
        });
      }
    }
  }
  for (std::thread& lane : lanes) lane.join();
}

// Runs body(EmulatedWarp&) in every lane of `num_warps` warps.
template <class Body>
void RunWarps(uint32_t num_warps, Body body) {
  RunBlocks(num_warps, 1, body);
}

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_SUPPORT_EMULATED_WARP_H_
