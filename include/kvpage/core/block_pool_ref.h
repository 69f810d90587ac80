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
//   word of 64 blocks, 1 fetch-and-add per block. Release: see block_words.h, then 1 fetch-or per
//   leaf word and 1 add per shard.
// Failure: kFull and kNeverFits are exact and change nothing. Misuse is answered at the faulty
//   call.

#ifndef KVPAGE_CORE_BLOCK_POOL_REF_H_
#define KVPAGE_CORE_BLOCK_POOL_REF_H_

#include <cstdint>
#include <type_traits>

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
        num_blocks_(storage.bits.num_blocks),
        leaf_mask_((1u << (storage.bits.shard_shift - 6)) - 1) {}

  KVPAGE_HOST_DEVICE uint32_t num_blocks() const { return num_blocks_; }

  // Makes every block free and every word new. Worker `worker` of `num_workers` does its part; the
  // pool may be used when all have.
  KVPAGE_HOST_DEVICE void Init(uint64_t worker, uint64_t num_workers) const {
    bits_.Init(worker, num_workers);
    for (uint64_t i = worker; i < num_blocks_; i += num_workers) {
      words_.Init(static_cast<BlockId>(i + 1));
    }
    for (uint64_t s = worker; s < gate_.num_shards(); s += num_workers) {
      gate_.Init(static_cast<uint32_t>(s), bits_.BlocksIn(static_cast<uint32_t>(s)));
    }
  }

  // Takes n blocks for the whole group, all or none, and writes their ids to ids[0 .. n), where
  // every lane can read them. kOk, kFull or kNeverFits, the same in every lane.
  template <Group G>
  KVPAGE_HOST_DEVICE OpStatus TryAllocate(G& g, uint32_t n, BlockId* ids) const {
    const Search search = SearchFor(g);
    return gate_.Take(g, n, search.home, [&](auto w, uint32_t shard, uint32_t count, uint32_t at) {
      bits_.Claim(
          w, shard, count, search.start,
          [&](auto&, uint32_t position, uint32_t before, uint32_t, BlockId first, uint64_t got) {
            // Two loops: on a CPU an atomic waits for the stores before it.
            BlockId* const mine = ids + at + position + before;
            const uint32_t here = PopCount(got);
            for (uint32_t i = 0; i < here; ++i, got &= got - 1) {
              mine[i] = first + LowestBit(got);
            }
            for (uint32_t i = 0; i < here; ++i) words_.Own(mine[i]);
          });
    });
  }

  // Takes one block for each lane, for itself: lanes are served in the order of their rank as far
  // as blocks go, and the others get the null block. The group is a thread, a warp or a coalesced
  // group; a thread block calls it with its subgroup().
  template <Group G>
  KVPAGE_HOST_DEVICE BlockId TryAllocateOne(G& g) const {
    static_assert(std::is_same_v<decltype(g.subgroup()), G>, "a thread block passes its subgroup");
    const Search search = SearchFor(g);
    BlockId mine = kNullBlock;
    uint32_t served = 0;
    for (uint32_t want = g.size(); want > 0;) {
      const OpStatus status = gate_.Take(
          g, want, search.home, [&](auto w, uint32_t shard, uint32_t count, uint32_t at) {
            bits_.Claim(w, shard, count, search.start,
                        [&](auto& lanes, uint32_t position, uint32_t before, uint32_t total,
                            BlockId first, uint64_t got) {
                          const BlockId dealt =
                              Deal(lanes, served + at + position, before, total, first, got);
                          if (dealt == kNullBlock) return;
                          mine = dealt;
                          words_.Own(mine);  // before F2, which acquires what it read
                        });
          });
      if (status == OpStatus::kOk) {
        served += want;
        if (g.size() - served < want) want = g.size() - served;
      } else {
        want /= 2;  // fewer may still fit; with want = 1 the answer was exact for every lane left
      }
    }
    g.Sync();
    return mine;
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

 private:
  struct Search {
    uint32_t home;   // shard to ask first
    uint32_t start;  // leaf of a shard to look at first
  };

  // Groups that run at the same time start in different places; spread 0 starts at the lowest ids.
  template <Group G>
  KVPAGE_HOST_DEVICE Search SearchFor(G& g) const {
    const uint64_t hash = g.spread() * 0x9e3779b97f4a7c15ull;
    return {static_cast<uint32_t>((hash >> 32) * gate_.num_shards() >> 32),
            static_cast<uint32_t>(hash >> 12) & leaf_mask_};
  }

  // Gives lane r number r of the group's blocks, if it is in this batch. Collective.
  template <Group W>
  KVPAGE_HOST_DEVICE static BlockId Deal(W& w, uint32_t position, uint32_t before, uint32_t total,
                                         BlockId first, uint64_t got) {
    const bool served = w.rank() >= position && w.rank() - position < total;
    const uint32_t item = served ? w.rank() - position : 0;
    const uint32_t lane = FreeBitsRef<A>::FindLane(w, before, item);
    const uint32_t its_before = w.Shuffle(before, lane);
    const uint64_t its_got = w.Shuffle(got, lane);
    const BlockId its_first = w.Shuffle(first, lane);
    return served ? its_first + SelectBit(its_got, item - its_before) : kNullBlock;
  }

  KVPAGE_HOST_DEVICE OpStatus ShareHandle(BlockId id, uint32_t generation) const {
    if (id == kNullBlock) return OpStatus::kOk;
    return IsBlock(id) ? words_.Share(id, 1, generation) : OpStatus::kInvalid;
  }

  template <Group G>
  KVPAGE_HOST_DEVICE OpStatus ReleaseHandle(G& g, BlockId id, uint32_t generation) const {
    g.Sync();  // the lanes may all have used each block: their accesses come before it is let go
    Dropped result{OpStatus::kOk, false};
    if (id != kNullBlock) {
      result = IsBlock(id) ? words_.Drop(id, 1, generation) : Dropped{OpStatus::kInvalid, false};
    }
    Free(g, result.last, id);
    return result.status;
  }

  template <Group G>
  KVPAGE_HOST_DEVICE void Free(G& g, bool last, BlockId id) const {
    auto w = g.subgroup();
    FreedBlocks<A, decltype(w)> freed(gate_, bits_, w);
    freed.Add(last, id);
    freed.Flush();
  }

  ExactGateRef<A> gate_;
  FreeBitsRef<A> bits_;
  BlockWordsRef<A> words_;
  uint32_t num_blocks_;
  uint32_t leaf_mask_;
};

}  // namespace kvpage

#endif  // KVPAGE_CORE_BLOCK_POOL_REF_H_
