// SPDX-License-Identifier: Apache-2.0
//
// tests/conformance/pool_site.h
//
// Where a pool is watched while many threads use it: a mark per block that says who holds it, and
// plain KV memory per block that only its holder may touch. The same source runs on CPU threads, in
// emulated warps and in CUDA kernels.
//
// A block's KV memory says how many lives the block has had. Its holder reads that, adds one, and
// leaves a check that tells a held block from a free one, all by plain accesses; so a write of the
// last holder that the next one does not see is found at once, or in the sum at the end.
//
// Marks is a policy with the verbs ExchangeRelaxed, AddRelaxed and FetchMinRelaxed. They order
// nothing, not even under a thread sanitizer: a mark must not lend the pool an order that it lacks.

#ifndef KVPAGE_TESTS_CONFORMANCE_POOL_SITE_H_
#define KVPAGE_TESTS_CONFORMANCE_POOL_SITE_H_

#include <cstdint>

#include "kvpage/core/bits.h"
#include "kvpage/core/block_pool_ref.h"
#include "kvpage/core/macros.h"

namespace kvpage::test {

// What the lanes of a workload report.
struct Findings {
  uint64_t taken;       // blocks received
  uint64_t full;        // requests, or lanes of a request, that were told Full
  uint64_t told_ok;     // where a workload counts successes itself
  uint64_t least_full;  // the smallest request of a group that was told Full; kNone

  // Errors.
  uint64_t duplicates;     // a block that somebody else holds, or let go of while held
  uint64_t lost_writes;    // KV memory that is not as its last holder left it
  uint64_t wrong_answers;  // an answer that the workload rules out

  static constexpr uint64_t kNone = ~uint64_t{0};
  uint64_t errors() const { return duplicates + lost_writes + wrong_answers; }
};

// The KV memory of one block.
struct KvCookie {
  uint64_t lives;
  uint64_t check;
};

// A generator that is the same everywhere.
class Dice {
 public:
  KVPAGE_HOST_DEVICE Dice(uint64_t seed, uint64_t stream)
      : state_(MixBits(seed ^ MixBits(stream))) {}
  // Uniform in [0, n).
  KVPAGE_HOST_DEVICE uint32_t Below(uint32_t n) {
    state_ = MixBits(state_);
    return static_cast<uint32_t>((state_ >> 32) * n >> 32);
  }

 private:
  uint64_t state_;
};

// Plain pointers, so that it travels into kernels by value.
template <Atomics A, class MarksPolicy>
class PoolSite {
 public:
  using Marks = MarksPolicy;
  using Pool = BlockPoolRef<A>;

  BlockPoolStorage storage;
  uint32_t* holders = nullptr;  // [num_blocks + 1], 0: nobody
  KvCookie* kv = nullptr;       // [num_blocks + 1]
  BlockId* ids = nullptr;       // [lanes * ids_per_lane], the lanes of a group lie together
  uint32_t ids_per_lane = 0;
  Findings* findings = nullptr;

  KVPAGE_HOST_DEVICE Pool pool() const { return Pool(storage); }
  KVPAGE_HOST_DEVICE BlockId* Ids(uint32_t first_lane) const {
    return ids + uint64_t{first_lane} * ids_per_lane;
  }

  // Lane `me` (its number + 1) has been handed a block.
  KVPAGE_HOST_DEVICE void Receive(BlockId id, uint32_t me) const {
    if (id - 1 >= storage.bits.num_blocks) return Count(&findings->wrong_answers);
    if (Marks::ExchangeRelaxed(&holders[id], me) != 0) Count(&findings->duplicates);
    KvCookie& cookie = kv[id];
    if (cookie.check != Check(cookie.lives, false)) Count(&findings->lost_writes);
    cookie.lives += 1;
    cookie.check = Check(cookie.lives, true);
    Count(&findings->taken);
  }

  // The holder looks at its block.
  KVPAGE_HOST_DEVICE void Look(BlockId id) const {
    if (kv[id].check != Check(kv[id].lives, true)) Count(&findings->lost_writes);
  }

  // One of those that share a block, which was left by the one who took it, looks at it.
  KVPAGE_HOST_DEVICE void LookAtFirstLife(BlockId id) const {
    if (kv[id].lives != 1 || kv[id].check != Check(1, false)) Count(&findings->lost_writes);
  }

  // Lane `me` is about to give a block back.
  KVPAGE_HOST_DEVICE void Leave(BlockId id, uint32_t me) const {
    Look(id);
    kv[id].check = Check(kv[id].lives, false);
    if (Marks::ExchangeRelaxed(&holders[id], 0u) != me) Count(&findings->duplicates);
  }

  KVPAGE_HOST_DEVICE void Expect(bool right) const {
    if (!right) Count(&findings->wrong_answers);
  }
  KVPAGE_HOST_DEVICE void Count(uint64_t* counter, uint64_t n = 1) const {
    Marks::AddRelaxed(counter, n);
  }

 private:
  KVPAGE_HOST_DEVICE static uint64_t Check(uint64_t lives, bool is_held) {
    const uint64_t phase = 2 * lives + (is_held ? 1 : 0);
    return MixBits(phase) ^ MixBits(0);  // memory of zeros is a block without lives
  }
};

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_CONFORMANCE_POOL_SITE_H_
