// SPDX-License-Identifier: Apache-2.0
//
// kvpage/core/group.h
//
// A Group is a set of threads that run one algorithm together: its lanes. The same source runs as
// one CPU thread, as a warp, a coalesced group or a thread block on the GPU
// (kvpage/cuda/warp_groups.cuh, thread_block_group.cuh), and as an emulated warp in the tests.
//
// Calls marked * are collective: every lane of the group must make them, in the same order.
//   rank(), size()       this lane's number, and how many there are
//   * Sync()             what any lane wrote before it, every lane of the group sees after it
//   * Any(bool)          true in every lane if true in one
//   * First(bool)        the lowest rank that passes true; size() if none does
//   * Sum(n), Min(n)     over all lanes, the result in every lane. n: uint32_t or uint64_t
//   * ExclusiveScan(n, n& total)   sum over the lanes of lower rank; the sum over all in total
//   * Shuffle(T, lane)   the value that `lane` passed; each lane may name another. T: up to 8 bytes
//   * Publish(u64)       an object p with p[lane]: the value that `lane` published. p[lane] is
//                        collective over the subgroup only; p dies at the group's next collective
//   * OrByKey(bool active, u32 key, u64 value, f)   f(key, bitwise or) for the active lanes: once
//                        for each of a few distinct keys, and for more keys perhaps in parts
//   subgroup()           the part of the group that can run apart from the rest (a warp of a
//                        thread block); subgroup_index() and num_subgroups() tell which
//   spread()             a number, the same in all lanes, that differs between groups that run at
//                        the same time, so that they start their search in different places; a
//                        group of several subgroups has as many numbers for itself
// kMinLanes is the least size() can be, known at compile time: it bounds per-lane arrays.
//
// Shuffles and sums order nothing in memory; only Sync() does.

#ifndef KVPAGE_CORE_GROUP_H_
#define KVPAGE_CORE_GROUP_H_

#include <concepts>
#include <cstdint>

#include "kvpage/core/macros.h"

namespace kvpage {

template <class G>
concept Group = requires(G g, bool b, uint32_t lane, uint64_t v, uint64_t& total, uint32_t n,
                         uint32_t& n_total) {
  { G::kMinLanes } -> std::convertible_to<uint32_t>;
  { g.rank() } -> std::convertible_to<uint32_t>;
  { g.size() } -> std::convertible_to<uint32_t>;
  g.Sync();
  { g.Any(b) } -> std::same_as<bool>;
  { g.First(b) } -> std::same_as<uint32_t>;
  { g.Sum(v) } -> std::same_as<uint64_t>;
  { g.Sum(n) } -> std::same_as<uint32_t>;
  { g.Min(v) } -> std::same_as<uint64_t>;
  { g.Min(n) } -> std::same_as<uint32_t>;
  { g.ExclusiveScan(v, total) } -> std::same_as<uint64_t>;
  { g.ExclusiveScan(n, n_total) } -> std::same_as<uint32_t>;
  { g.Shuffle(v, lane) } -> std::same_as<uint64_t>;
  { g.Publish(v)[lane] } -> std::convertible_to<uint64_t>;
  { g.subgroup().size() } -> std::convertible_to<uint32_t>;
  { g.subgroup_index() } -> std::convertible_to<uint32_t>;
  { g.num_subgroups() } -> std::convertible_to<uint32_t>;
  { g.spread() } -> std::convertible_to<uint32_t>;
};

// One thread, on the CPU or on the GPU: every collective is the identity.
class ThreadGroup {
 public:
  static constexpr uint32_t kMinLanes = 1;

  KVPAGE_HOST_DEVICE explicit ThreadGroup(uint32_t spread = 0) : spread_(spread) {}

  KVPAGE_HOST_DEVICE uint32_t rank() const { return 0; }
  KVPAGE_HOST_DEVICE uint32_t size() const { return 1; }
  KVPAGE_HOST_DEVICE void Sync() const {}
  KVPAGE_HOST_DEVICE bool Any(bool b) const { return b; }
  KVPAGE_HOST_DEVICE uint32_t First(bool b) const { return b ? 0 : 1; }
  template <class T>
  KVPAGE_HOST_DEVICE T Sum(T v) const {
    return v;
  }
  template <class T>
  KVPAGE_HOST_DEVICE T Min(T v) const {
    return v;
  }
  template <class T>
  KVPAGE_HOST_DEVICE T ExclusiveScan(T v, T& total) const {
    total = v;
    return 0;
  }
  template <class T>
  KVPAGE_HOST_DEVICE T Shuffle(T v, uint32_t) const {
    return v;
  }

  struct Published {
    uint64_t value;
    KVPAGE_HOST_DEVICE uint64_t operator[](uint32_t) const { return value; }
  };
  KVPAGE_HOST_DEVICE Published Publish(uint64_t v) const { return {v}; }

  template <class F>
  KVPAGE_HOST_DEVICE void OrByKey(bool active, uint32_t key, uint64_t value, F f) const {
    if (active) f(key, value);
  }

  KVPAGE_HOST_DEVICE ThreadGroup subgroup() const { return *this; }
  KVPAGE_HOST_DEVICE uint32_t subgroup_index() const { return 0; }
  KVPAGE_HOST_DEVICE uint32_t num_subgroups() const { return 1; }
  KVPAGE_HOST_DEVICE uint32_t spread() const { return spread_; }

 private:
  uint32_t spread_;
};

static_assert(Group<ThreadGroup>);

}  // namespace kvpage

#endif  // KVPAGE_CORE_GROUP_H_
