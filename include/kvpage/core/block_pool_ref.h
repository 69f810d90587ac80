// SPDX-License-Identifier: Apache-2.0
//
// kvpage/core/block_pool_ref.h
//
// A BlockPoolRef hands out blocks by id, counts their references, and takes them back. It is a
// view: trivially copyable, passed by value into kernels, and usable by any number of groups at
// once.
//
// Use it inside kernels (A = CudaAtomics) or from CPU threads (A = CpuAtomics); for an owner with
// memory of its own see kvpage/block_pool.h and kvpage/cuda/cuda_block_pool.h.
//
// Example, in a kernel, with kvpage/cuda/kvpage.cuh:
//   kvpage::BlockPoolRef<kvpage::CudaAtomics> pool(storage);
//   kvpage::WarpGroup warp;
//   kvpage::BlockId mine = pool.TryAllocateOne(warp);   // one gate atomic for the warp
//   if (mine != kvpage::kNullBlock) { ... }
//   pool.Release(warp, mine);                           // the null block is passed over
//
// Thread safety: every method may be called at any time by any group. All are collective: every
//   lane of the group calls them together, and a call is complete when it has returned in all.
// Memory ordering: what the lanes of the holders' groups did to a block before Release happens
//   before what the lanes of the group do whose TryAllocate returns it. (Accesses through the async
//   proxy need their own proxy fence before Release.)
// Cost: TryAllocate: 2 loads, 1 fetch-and-add, 1 add and 1 fence per group, 1 fetch-and per leaf
//   word of 64 blocks, 1 fetch-and-add per block. Release: see block_words.h, then 1 fetch-or and 1
//   add per leaf word. Make a group once and use it for many calls.
// Failure: kFull, kRetryAfterFence (kFull, but enough with the blocks that are pending) and
//   kNeverFits are exact and change nothing. Misuse is answered at the faulty call.

#ifndef KVPAGE_CORE_BLOCK_POOL_REF_H_
#define KVPAGE_CORE_BLOCK_POOL_REF_H_

#include <cstdint>

#include "kvpage/core/block_pool_storage.h"
#include "kvpage/core/freed_blocks.h"

namespace kvpage {

template <Atomics A>
class BlockPoolRef {
 public:
  static constexpr uint32_t kAnyGeneration = BlockWordsRef<A>::kAnyGeneration;

  KVPAGE_HOST_DEVICE explicit BlockPoolRef(const BlockPoolStorage& storage)
      : gate_(storage.gate),
        bits_(storage.bits),
        words_(storage.words),
        pending_(storage.pending),
        mirror_(storage.mirror),
        num_blocks_(storage.bits.num_blocks),
        leaf_shift_(storage.bits.shard_shift - 6) {}

  KVPAGE_HOST_DEVICE uint32_t num_blocks() const { return num_blocks_; }

  // Makes every block free and every word new. Worker `worker` of `num_workers` does its part; the
  // pool may be used when all have.
  KVPAGE_HOST_DEVICE void Init(uint64_t worker, uint64_t num_workers) const {
    bits_.Init(worker, num_workers);
    pending_.Init(worker, num_workers);
    mirror_.Init(worker);
    for (uint64_t i = worker; i < num_blocks_; i += num_workers) {
      words_.Init(static_cast<BlockId>(i + 1));
    }
    for (uint64_t s = worker; s < gate_.num_shards(); s += num_workers) {
      gate_.Init(static_cast<uint32_t>(s), bits_.BlocksIn(static_cast<uint32_t>(s)));
    }
  }

  // Takes n blocks for the whole group, all or none, and writes their ids to ids[0 .. n), where
  // every lane can read them. kOk, kFull, kRetryAfterFence or kNeverFits, the same in every lane.
  template <Group G>
  KVPAGE_HOST_DEVICE OpStatus TryAllocate(G& g, uint32_t n, BlockId* ids) const {
    const Search search = SearchFor(g);
    const auto claim = [&](auto w, uint32_t shard, uint32_t count, uint32_t at) {
      bits_.Claim(w, shard, count, search.start, bits_.Look(w, shard, search.start),
                  [&](auto& lanes, uint32_t position, const ClaimedBlocks& claimed) {
                    BlockId* const mine = ids + at + position;
                    // Twice: on a CPU an atomic waits for the stores before it.
                    claimed.ForEach(lanes, [&](uint32_t item, BlockId id) { mine[item] = id; });
                    claimed.ForEach(lanes, [&](uint32_t, BlockId id) { words_.Own(id); });
                  });
    };
    const OpStatus status = gate_.Take(g, n, search.home, claim);
    if (status != OpStatus::kFull || pending_.num_sets() == 0) return status;
    const int64_t bound = gate_.ScanShards(g, 0, 0).bound;
    const OpStatus why = pending_.FullOrRetry(n, bound > 0 ? static_cast<uint64_t>(bound) : 0);
    return static_cast<OpStatus>(g.Shuffle(static_cast<uint32_t>(why), 0));
  }

  // Takes one block for each lane, for itself: lanes are served in the order of their rank as far
  // as blocks go, and the others get the null block. One gate operation for the whole group; its
  // subgroups find their blocks each for itself.
  template <Group G>
  KVPAGE_HOST_DEVICE BlockId TryAllocateOne(G& g) const {
    auto w = g.subgroup();
    const Search search = SearchFor(g);
    // Looked up beside the gate's words, not after them.
    const auto seen = bits_.Look(w, search.home, search.start);
    const auto grant = gate_.AskHome(g, 1, g.size(), search.home);
    const uint32_t granted = g.Shuffle(grant.count, 0);
    BlockId mine = kNullBlock;
    ClaimedBlocks claimed;
    if (granted == g.size()) {
      claimed = bits_.ClaimFromOneLeaf(w, seen, w.size(), search.start);
      mine = Deal(w, claimed, w.rank());
    }
    const bool is_short = claimed.total < w.size();
    if (!(g.num_subgroups() == 1 ? is_short : g.Any(is_short))) {
      gate_.Settle(g, grant);
      return mine;
    }
    G its_group = g;  // so that g itself can stay in registers
    const BlockId other = AllocateOthers(*this, its_group, search, seen, granted, claimed.total);
    g = its_group;
    return mine != kNullBlock ? mine : other;
  }

  // Adds one reference to each lane's block; the null block is passed over. The caller holds a
  // reference, or passes a handle: then kStale tells that its block has been released since.
  template <Group G>
  KVPAGE_HOST_DEVICE OpStatus Share(G&, BlockId id) const {
    return ShareHandle(id, kAnyGeneration);
  }
  template <Group G>
  KVPAGE_HOST_DEVICE OpStatus Share(G&, BlockHandle handle) const {
    return ShareHandle(handle.id, handle.generation);
  }

  // Takes one reference from each lane's block; the null block is passed over. What any lane of the
  // group did to the blocks before is covered. kDoubleFree: nobody holds it. kStale: the handle's
  // block has been released since. kInvalid: no such block.
  template <Group G>
  KVPAGE_HOST_DEVICE OpStatus Release(G& g, BlockId id) const {
    return ReleaseHandle(g, id, kAnyGeneration);
  }
  template <Group G>
  KVPAGE_HOST_DEVICE OpStatus Release(G& g, BlockHandle handle) const {
    return ReleaseHandle(g, handle.id, handle.generation);
  }

  // The handle of a block that the caller holds.
  KVPAGE_HOST_DEVICE BlockHandle Handle(BlockId id) const {
    return {id, words_.State(id).generation};
  }
  KVPAGE_HOST_DEVICE bool IsBlock(BlockId id) const { return id - 1 < num_blocks_; }

  // The parts, for the batch operations.
  KVPAGE_HOST_DEVICE const ExactGateRef<A>& gate() const { return gate_; }
  KVPAGE_HOST_DEVICE const FreeBitsRef<A>& bits() const { return bits_; }
  KVPAGE_HOST_DEVICE const BlockWordsRef<A>& words() const { return words_; }
  KVPAGE_HOST_DEVICE const PendingBlocksRef<A>& pending() const { return pending_; }
  KVPAGE_HOST_DEVICE const HostMirrorRef<A>& mirror() const { return mirror_; }

  // Makes the pending blocks of completed epochs free. Batch operations that want blocks begin with
  // it. Collective.
  template <Group G>
  KVPAGE_HOST_DEVICE void Drain(G& g) const {
    pending_.Drain(g, gate_, bits_);
  }

 private:
  using Seen = typename FreeBitsRef<A>::Seen;

  struct Search {
    uint32_t home;   // shard to ask first
    uint32_t start;  // block of a shard that this subgroup looks at first
  };

  // Groups that run at the same time start in different shards, then in different leaves, then at
  // different bits, as long as there are any; spread 0 starts at the lowest ids.
  template <Group G>
  KVPAGE_HOST_DEVICE Search SearchFor(G& g) const {
    uint32_t number = g.spread();
    if (g.num_subgroups() > 1) number /= g.num_subgroups();
    number &= (1u << 26) - 1;
    const uint32_t turn = gate_.DivideByShards(number);  // how many started in this shard before
    const uint32_t leaf = turn * g.num_subgroups() + g.subgroup_index();
    const uint32_t bit = (leaf >> leaf_shift_) * g.subgroup().size() & 63;
    return {number - turn * gate_.num_shards(), leaf << 6 | bit};
  }

  // Number `item` of the claimed blocks for this lane, if there is one. Collective.
  template <Group W>
  KVPAGE_HOST_DEVICE BlockId Deal(W& w, const ClaimedBlocks& claimed, uint32_t item) const {
    if (claimed.total == 0) return kNullBlock;
    const BlockId id = claimed.Get(w, item < claimed.total ? item : 0);
    if (item >= claimed.total) return kNullBlock;
    words_.Own(id);  // before F2, which acquires what it read
    return id;
  }

  // The rest of TryAllocateOne, when the home shard granted `granted` blocks, of which the lowest
  // `served` lanes of this subgroup have theirs. A function of its own, all by value: what it needs
  // shall not burden the registers of the short way.
  template <Group G>
  KVPAGE_HOST_DEVICE KVPAGE_NOINLINE static BlockId AllocateOthers(const BlockPoolRef pool, G& g,
                                                                   const Search search, Seen seen,
                                                                   uint32_t granted,
                                                                   uint32_t served) {
    auto w = g.subgroup();
    const uint32_t first_rank = g.rank() - w.rank();
    typename ExactGateRef<A>::Grant grant{search.home, g.rank() == 0 ? granted : 0};
    uint32_t lanes = 1;  // that may hold a part of the grant
    BlockId mine = kNullBlock;
    for (uint32_t passed = 0;;) {
      const auto parts = g.Publish(uint64_t{grant.count} << 32 | grant.shard);
      for (uint32_t l = 0; l < lanes; ++l) {
        const uint64_t part = parts[l];
        const uint32_t begin = Greatest(passed, first_rank + served);
        passed += static_cast<uint32_t>(part >> 32);
        const uint32_t end = Least(passed, first_rank + w.size());
        if (begin >= end) continue;
        const uint32_t shard = static_cast<uint32_t>(part);
        if (shard != search.home || passed > granted)
          seen = pool.bits_.Look(w, shard, search.start);
        pool.bits_.Claim(w, shard, end - begin, search.start, seen,
                         [&](auto& its_lanes, uint32_t position, const ClaimedBlocks& claimed) {
                           const uint32_t item = g.rank() - begin - position;  // wraps if below
                           const BlockId id = pool.Deal(its_lanes, claimed, item);
                           if (id != kNullBlock) mine = id;
                         });
      }
      pool.gate_.Settle(g, grant);
      if (passed == g.size()) return mine;
      grant = pool.gate_.AskAll(g, g.size() - passed, search.home);
      lanes = g.size();
      if (!g.Any(grant.count > 0)) return mine;
    }
  }

  KVPAGE_HOST_DEVICE static uint32_t Least(uint32_t a, uint32_t b) { return a < b ? a : b; }
  KVPAGE_HOST_DEVICE static uint32_t Greatest(uint32_t a, uint32_t b) { return a < b ? b : a; }

  KVPAGE_HOST_DEVICE OpStatus ShareHandle(BlockId id, uint32_t generation) const {
    if (id == kNullBlock) return OpStatus::kOk;
    return Reported(IsBlock(id) ? words_.Share(id, 1, generation) : OpStatus::kInvalid, id);
  }
  KVPAGE_HOST_DEVICE OpStatus Reported(OpStatus status, BlockId id) const {
    if (status != OpStatus::kOk) mirror_.Report({.status = status, .block = id});
    return status;
  }

  template <Group G>
  KVPAGE_HOST_DEVICE OpStatus ReleaseHandle(G& g, BlockId id, uint32_t generation) const {
    g.Sync();  // the lanes may all have used each block: their accesses come before it is let go
    Dropped result{OpStatus::kOk, false};
    if (id != kNullBlock) {
      result = IsBlock(id) ? words_.Drop(id, 1, generation) : Dropped{OpStatus::kInvalid, false};
    }
    Free(g, result.last, id);
    return Reported(result.status, id);
  }

  template <Group G>
  KVPAGE_HOST_DEVICE void Free(G& g, bool last, BlockId id) const {
    auto w = g.subgroup();
    if (!w.Any(last)) return;
    FreedBlocks<A, decltype(w)>::MakeFree(gate_, bits_, w, last ? bits_.LeafOf(id) : 0,
                                          last ? bits_.BitOf(id) : 0);
  }

  ExactGateRef<A> gate_;
  FreeBitsRef<A> bits_;
  BlockWordsRef<A> words_;
  PendingBlocksRef<A> pending_;
  HostMirrorRef<A> mirror_;
  uint32_t num_blocks_;
  uint32_t leaf_shift_;
};

}  // namespace kvpage

#endif  // KVPAGE_CORE_BLOCK_POOL_REF_H_
