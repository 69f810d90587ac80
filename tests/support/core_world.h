// SPDX-License-Identifier: Apache-2.0
//
// tests/support/core_world.h
//
// A block pool and a page table in memory that held something else before, for tests that run the
// algorithms of kvpage/core themselves. The functions run one operation on one thread, on all rows
// of the table in order.
//
// Example:
//   CoreWorld<CpuAtomics> world({.num_blocks = 64}, {.max_sequences = 2, ...});
//   world.Append({6, 6});
//   EXPECT_EQ(world.table().Entry(1, 0), 3u);

#ifndef KVPAGE_TESTS_SUPPORT_CORE_WORLD_H_
#define KVPAGE_TESTS_SUPPORT_CORE_WORLD_H_

#include <cstdint>
#include <numeric>
#include <vector>

#include "kvpage/core/append_rows.h"
#include "kvpage/core/audit.h"
#include "kvpage/core/begin_draft.h"
#include "kvpage/core/commit_draft.h"
#include "kvpage/core/release_rows.h"
#include "tests/support/printing.h"

namespace kvpage::test {

template <class A>
class CoreWorld {
 public:
  using Numbers = std::vector<int32_t>;
  using Results = std::vector<OpStatus>;

  CoreWorld(const BlockPoolOptions& pool, const PageTableOptions& table)
      : pool_memory_(BlockPoolStorage::RequiredBytes(pool) / 8 + 1, kJunk),
        table_memory_(PageTableStorage::RequiredBytes(table) / 8 + 1, kJunk),
        pool_storage_(Carve<BlockPoolStorage>(pool_memory_, pool)),
        pool_(pool_storage_),
        table_(Carve<PageTableStorage>(table_memory_, table)),
        rows_(table.max_sequences),
        copies_(table.max_sequences * table.max_draft_branches) {
    pool_.Init(0, 1);
    table_.Init(0, 1);
    std::iota(rows_.begin(), rows_.end(), 0);
  }

  const BlockPoolRef<A>& pool() const { return pool_; }
  const PageTableRef<A>& table() const { return table_; }
  const BlockPoolStorage& pool_storage() const { return pool_storage_; }

  Results Append(const Numbers& tokens) {
    return Run<AppendRows, AppendBatch>(tokens, [&](AppendBatch& batch) {
      batch.tokens = tokens.data();
      batch.copies = copies_.data();
    });
  }
  Results BeginDraft(const Numbers& tokens, const Numbers& branches) {
    return Run<kvpage::BeginDraft, BeginDraftBatch>(tokens, [&](BeginDraftBatch& batch) {
      batch.tokens = tokens.data();
      batch.branches = branches.data();
      batch.copies = copies_.data();
    });
  }
  Results Commit(const Numbers& tokens, const Numbers& branches, uint64_t epoch = 0) {
    return Run<CommitDraft, CommitDraftBatch>(tokens, [&](CommitDraftBatch& batch) {
      batch.tokens = tokens.data();
      batch.branches = branches.data();
      batch.fence.epoch = epoch;
    });
  }
  Results Close(uint64_t epoch = 0) {
    return Run<ReleaseRows, CloseBatch>(rows_,
                                        [&](CloseBatch& batch) { batch.fence.epoch = epoch; });
  }
  // The rows that the next operations are about.
  void SetRows(const Numbers& rows) { rows_ = rows; }

  AuditReport Audit() {
    std::vector<uint32_t> outside(pool_.num_blocks());
    AuditReport report;
    const kvpage::Audit<A> audit(pool_, table_, &report, outside.data());
    audit.Clear(0, 1);
    audit.Count(0, 1);
    audit.Check(0, 1);
    return report;
  }

 private:
  static constexpr uint64_t kJunk = 0x0007000200070002;

  template <class Storage, class Options>
  static Storage Carve(std::vector<uint64_t>& memory, const Options& options) {
    Carver carver(memory.data());
    return Storage::Carve(carver, options);
  }

  template <template <class, class> class Operation, class Batch, class Fill>
  Results Run(const Numbers& numbers, Fill fill) {
    Results statuses(numbers.size(), OpStatus::kInvalid);
    Batch batch;
    batch.batch.rows = rows_.data();
    batch.batch.num_rows = static_cast<int32_t>(numbers.size());
    batch.batch.statuses = statuses.data();
    fill(batch);
    ThreadGroup me;
    Operation<A, ThreadGroup>(me, pool_, table_, batch).Run();
    return statuses;
  }

  std::vector<uint64_t> pool_memory_;
  std::vector<uint64_t> table_memory_;
  BlockPoolStorage pool_storage_;
  BlockPoolRef<A> pool_;
  PageTableRef<A> table_;
  Numbers rows_;
  std::vector<BlockCopy> copies_;
};

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_SUPPORT_CORE_WORLD_H_
