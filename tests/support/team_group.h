// SPDX-License-Identifier: Apache-2.0
//
// tests/support/team_group.h
//
// The Group concept of kvpage/core/group.h over a Team: lanes that meet. Every collective is one
// meeting, at which each lane hands in an item and then sees the items of all. Two teams exist:
// ThreadTeam (tests/support/emulated_warp.h) and SchedTeam (tests/support/sched_warp.h).
//
// A Team has
//   size()
//   Meet(rank, kind, item) -> const TeamItem*   waits for all lanes; the result is good until the
//                                               lane's next meeting; kinds that differ are reported
//   Sync(rank)                                  a meeting that also orders memory
//   published(rank) -> uint64_t*                two arrays in turn, one more turn per call
// A group of several subgroups (a thread block) has one team for all and one for its subgroup.

#ifndef KVPAGE_TESTS_SUPPORT_TEAM_GROUP_H_
#define KVPAGE_TESTS_SUPPORT_TEAM_GROUP_H_

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "kvpage/core/bits.h"
#include "kvpage/core/group.h"

namespace kvpage::test {

struct TeamItem {
  const char* kind = nullptr;
  uint64_t key = 0;
  uint64_t value = 0;
  bool is_active = true;
};

template <class Team, uint32_t kLeastLanes>
class TeamGroup {
 public:
  static constexpr uint32_t kMinLanes = kLeastLanes;

  // A warp: one team.
  TeamGroup(Team& team, uint32_t rank, uint32_t spread) : TeamGroup(team, team, rank, 0, spread) {}
  // A thread block whose subgroup number `subgroup` this lane belongs to.
  TeamGroup(Team& team, Team& sub_team, uint32_t rank, uint32_t subgroup, uint32_t spread)
      : team_(&team), sub_team_(&sub_team), rank_(rank), subgroup_(subgroup), spread_(spread) {}

  uint32_t rank() const { return rank_; }
  uint32_t size() const { return team_->size(); }
  uint32_t spread() const { return spread_; }

  void Sync() const { team_->Sync(rank_); }

  bool Any(bool b) const {
    const TeamItem* items = team_->Meet(rank_, {"Any", 0, b, true});
    return std::any_of(items, items + size(), [](const TeamItem& i) { return i.value != 0; });
  }
  uint32_t First(bool b) const {
    const TeamItem* items = team_->Meet(rank_, {"First", 0, b, true});
    const TeamItem* first =
        std::find_if(items, items + size(), [](const TeamItem& i) { return i.value != 0; });
    return static_cast<uint32_t>(first - items);
  }
  template <class T>
  T Sum(T v) const {
    T total = 0;
    Scan("Sum", v, total);
    return total;
  }
  template <class T>
  T Min(T v) const {
    const TeamItem* items = team_->Meet(rank_, {"Min", 0, static_cast<uint64_t>(v), true});
    for (uint32_t l = 0; l < size(); ++l) v = std::min(v, static_cast<T>(items[l].value));
    return v;
  }
  template <class T>
  T ExclusiveScan(T v, T& total) const {
    return Scan("ExclusiveScan", v, total);
  }
  template <class T>
  T Shuffle(T v, uint32_t lane) const {
    static_assert(sizeof(T) <= sizeof(uint64_t));
    uint64_t bits = 0;
    std::memcpy(&bits, &v, sizeof(T));
    const TeamItem* items = team_->Meet(rank_, {"Shuffle", 0, bits, true});
    std::memcpy(&v, &items[lane].value, sizeof(T));
    return v;
  }

  class Published {
   public:
    Published(const uint64_t* values, Team* team, uint32_t rank)
        : values_(values), team_(team), rank_(rank) {}
    uint64_t operator[](uint32_t lane) const {
      team_->Meet(rank_, {"Published[]", 0, 0, true});
      return values_[lane];
    }

   private:
    const uint64_t* values_;
    Team* team_;
    uint32_t rank_;  // in the subgroup
  };
  Published Publish(uint64_t v) const {
    uint64_t* values = team_->published(rank_);
    values[rank_] = v;
    team_->Meet(rank_, {"Publish", 0, v, true});
    return Published(values, sub_team_, rank_ % sub_team_->size());
  }

  // Which lane of a key acts is not promised, so it differs from key to key here.
  template <class F>
  void OrByKey(bool is_active, uint32_t key, uint64_t value, F f) const {
    const TeamItem* items = team_->Meet(rank_, {"OrByKey", key, value, is_active});
    if (!is_active) return;
    uint64_t merged = 0;
    uint32_t members = 0;
    uint32_t before_me = 0;
    for (uint32_t l = 0; l < size(); ++l) {
      if (!items[l].is_active || items[l].key != key) continue;
      merged |= items[l].value;
      ++members;
      if (l < rank_) ++before_me;
    }
    if (MixBits(key) % members == before_me) f(key, merged);
  }

  TeamGroup subgroup() const {
    return TeamGroup(*sub_team_, *sub_team_, rank_ % sub_team_->size(), 0, spread_ + subgroup_);
  }
  uint32_t subgroup_index() const { return subgroup_; }
  uint32_t num_subgroups() const { return team_->size() / sub_team_->size(); }

 private:
  template <class T>
  T Scan(const char* kind, T v, T& total) const {
    const TeamItem* items = team_->Meet(rank_, {kind, 0, static_cast<uint64_t>(v), true});
    T before = 0;
    total = 0;
    for (uint32_t l = 0; l < size(); ++l) {
      if (l < rank_) before += static_cast<T>(items[l].value);
      total += static_cast<T>(items[l].value);
    }
    return before;
  }

  Team* team_;
  Team* sub_team_;
  uint32_t rank_;
  uint32_t subgroup_;
  uint32_t spread_;
};

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_SUPPORT_TEAM_GROUP_H_
