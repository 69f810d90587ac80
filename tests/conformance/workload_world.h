// SPDX-License-Identifier: Apache-2.0
//
// tests/conformance/workload_world.h
//
// A pool in the memory of a backend, with the PoolSite that watches it; runs workloads there, and
// says afterwards whether everything is as it must be.
//
// A Backend has
//   Atomics, Marks              the policies
//   LanesPerUnit(shape)         lanes of a thread, warp or thread block
//   Shapes()                    how many units to run, and how they lie on the machine
//   Allocate(bytes)             zeroed memory; Free(p)
//   Upload(to, from, bytes), Download(to, from, bytes)   after everything that was run
//   Run(shape, workload)        the workload in every lane of every unit; waits
//   RunWorkers(task)            task(worker, num_workers) for each of some workers; waits

#ifndef KVPAGE_TESTS_CONFORMANCE_WORKLOAD_WORLD_H_
#define KVPAGE_TESTS_CONFORMANCE_WORKLOAD_WORLD_H_

#include <cstdint>
#include <string>
#include <vector>

#include "kvpage/core/audit.h"
#include "kvpage/core/page_table_ref.h"
#include "tests/conformance/pool_site.h"

namespace kvpage::test {

template <Atomics A>
struct InitState {
  BlockPoolStorage pool;
  PageTableStorage table;
  KVPAGE_HOST_DEVICE void operator()(uint64_t worker, uint64_t num_workers) const {
    BlockPoolRef<A>(pool).Init(worker, num_workers);
    PageTableRef<A>(table).Init(worker, num_workers);
  }
};

template <Atomics A, int kPass>
struct AuditState {
  BlockPoolStorage pool;
  PageTableStorage table;
  AuditReport* report;
  uint32_t* workspace;
  KVPAGE_HOST_DEVICE void operator()(uint64_t worker, uint64_t num_workers) const {
    const Audit<A> audit(BlockPoolRef<A>(pool), PageTableRef<A>(table), report, workspace);
    if constexpr (kPass == 0) audit.Clear(worker, num_workers);
    if constexpr (kPass == 1) audit.Count(worker, num_workers);
    if constexpr (kPass == 2) audit.Check(worker, num_workers);
  }
};

// Options of a pool of about so many shards: at most, and more than half of it if there are blocks
// enough.
inline BlockPoolOptions PoolOf(uint32_t num_blocks, uint32_t shards) {
  uint32_t per_shard = 64;
  while (CeilDiv(num_blocks, per_shard) > shards) per_shard *= 2;
  return {.num_blocks = num_blocks, .blocks_per_shard = per_shard};
}

template <class Backend>
class WorkloadWorld {
 public:
  using A = typename Backend::Atomics;
  using Site = PoolSite<A, typename Backend::Marks>;
  using Shape = typename Backend::Shape;

  WorkloadWorld(const Shape& shape, const BlockPoolOptions& options, uint32_t ids_per_lane)
      : shape_(shape) {
    const uint64_t words = uint64_t{options.num_blocks} + 1;
    PageTableOptions table;
    table.max_sequences = 1;
    table.max_blocks_per_sequence = 1;
    Carver pool_carver(New<char>(BlockPoolStorage::RequiredBytes(options)));
    Carver table_carver(New<char>(PageTableStorage::RequiredBytes(table)));
    site_.storage = BlockPoolStorage::Carve(pool_carver, options);
    table_ = PageTableStorage::Carve(table_carver, table);
    site_.holders = New<uint32_t>(words);
    site_.kv = New<KvCookie>(words);
    site_.ids_per_lane = ids_per_lane;
    site_.ids = New<BlockId>(uint64_t{num_lanes()} * ids_per_lane + options.num_blocks);
    site_.findings = New<Findings>(1);
    report_ = New<AuditReport>(1);
    workspace_ = New<uint32_t>(words);
    Findings none = {};
    none.least_full = Findings::kNone;
    Backend::Upload(site_.findings, &none, sizeof(none));
    Backend::RunWorkers(InitState<A>{site_.storage, table_});
  }
  ~WorkloadWorld() {
    for (void* memory : memory_) Backend::Free(memory);
  }
  WorkloadWorld(const WorkloadWorld&) = delete;
  WorkloadWorld& operator=(const WorkloadWorld&) = delete;

  const Site& site() const { return site_; }
  uint32_t num_lanes() const { return shape_.units * Backend::LanesPerUnit(shape_); }

  template <class Workload>
  void Run(const Workload& workload) {
    Backend::Run(shape_, workload);
  }
  // The workload, in the first unit alone.
  template <class Workload>
  void RunOne(const Workload& workload) {
    Shape one = shape_;
    one.units = 1;
    Backend::Run(one, workload);
  }

  Findings FindingsSoFar() const { return Read(site_.findings); }
  template <class T>
  T Read(const T* from) const {
    T value;
    Backend::Download(&value, from, sizeof(T));
    return value;
  }

  // Empty if at rest `held` blocks are owned, all others free, nobody reported an error, and the KV
  // memory counts as many lives as blocks were taken.
  std::string CheckAtRest(uint64_t held) {
    Backend::RunWorkers(AuditState<A, 0>{site_.storage, table_, report_, workspace_});
    Backend::RunWorkers(AuditState<A, 1>{site_.storage, table_, report_, workspace_});
    Backend::RunWorkers(AuditState<A, 2>{site_.storage, table_, report_, workspace_});
    const AuditReport report = Read(report_);
    const Findings found = FindingsSoFar();
    std::vector<KvCookie> kv(site_.storage.num_blocks() + 1);
    Backend::Download(kv.data(), site_.kv, kv.size() * sizeof(KvCookie));
    uint64_t lives = 0;
    for (const KvCookie& cookie : kv) lives += cookie.lives;

    std::string wrong;
    const auto expect = [&](const char* what, uint64_t is, uint64_t should) {
      if (is == should) return;
      wrong +=
          std::string(what) + ": " + std::to_string(is) + ", not " + std::to_string(should) + "; ";
    };
    expect("duplicates", found.duplicates, 0);
    expect("lost writes", found.lost_writes, 0);
    expect("wrong answers", found.wrong_answers, 0);
    expect("lives", lives, found.taken);
    expect("owned blocks", report.owned_blocks, held);
    expect("free blocks", report.free_blocks, site_.storage.num_blocks() - held);
    expect("gate errors", report.gate_errors, 0);
    expect("block errors", report.block_errors, 0);
    expect("summary errors", report.summary_errors, 0);
    if (!wrong.empty()) {
      wrong += std::to_string(site_.storage.num_blocks()) + " blocks, " +
               std::to_string(site_.storage.gate.num_shards) + " shards, " +
               std::to_string(shape_.units) + " units";
    }
    return wrong;
  }

 private:
  template <class T>
  T* New(uint64_t count) {
    memory_.push_back(Backend::Allocate(count * sizeof(T)));
    return static_cast<T*>(memory_.back());
  }

  Shape shape_;
  std::vector<void*> memory_;
  Site site_;
  PageTableStorage table_;
  AuditReport* report_ = nullptr;
  uint32_t* workspace_ = nullptr;
};

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_CONFORMANCE_WORKLOAD_WORLD_H_
