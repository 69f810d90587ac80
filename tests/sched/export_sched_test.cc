// SPDX-License-Identifier: Apache-2.0
//
// Exports beside a batch that lengthens rows and commits drafts to them, under the seeded scheduler
// and a weak memory: what is exported of a row is its blocks, all of them, for the length that is
// exported with it.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "kvpage/core/append_rows.h"
#include "kvpage/core/begin_draft.h"
#include "kvpage/core/commit_draft.h"
#include "kvpage/core/export_csr.h"
#include "kvpage/core/export_table.h"
#include "tests/sched/pool_world.h"
#include "tests/support/sched_warp.h"
#include "tests/support/test_seed.h"

namespace kvpage::test {
namespace {

using Table = PageTableRef<SchedAtomics>;

constexpr int32_t kRows = 2;
constexpr int32_t kPadded = 3;
constexpr int32_t kWidth = 4;
constexpr int32_t kBlocks = 8;
constexpr PageTableOptions kOptions = {.max_sequences = kRows,
                                       .max_blocks_per_sequence = kWidth,
                                       .block_tokens = 2,
                                       .max_draft_tokens = 3};
constexpr int32_t kRowNumbers[kRows] = {0, 1};

struct Batches {
  std::vector<int32_t> appended = std::vector<int32_t>(kRows);
  std::vector<int32_t> drafted = std::vector<int32_t>(kRows);
  std::vector<int32_t> accepted = std::vector<int32_t>(kRows);
  OpStatus statuses[kRows];

  RowBatch batch() { return {.rows = kRowNumbers, .num_rows = kRows, .statuses = statuses}; }
};

template <class G>
void RunBatches(G& g, const Pool& pool, const Table& table, Batches& b) {
  AppendRows<SchedAtomics, G>(g, pool, table,
                              AppendBatch{.batch = b.batch(), .tokens = b.appended.data()})
      .Run();
  for (int i = 0; i < 2; ++i) {
    g.Sync();
    BeginDraft<SchedAtomics, G>(g, pool, table,
                                BeginDraftBatch{.batch = b.batch(), .tokens = b.drafted.data()})
        .Run();
    g.Sync();
    CommitDraft<SchedAtomics, G>(g, pool, table,
                                 CommitDraftBatch{.batch = b.batch(), .tokens = b.accepted.data()})
        .Run();
  }
}

// The arrays of one exporting group.
struct Arrays {
  OpStatus statuses[kRows];
  int32_t table[kPadded * kWidth];
  int32_t lengths[kPadded];
  int32_t indptr[kPadded + 1];
  int32_t indices[kBlocks];
  int32_t last_page_len[kPadded];
  bool seen[kBlocks + 1];

  RowBatch batch() { return {.rows = kRowNumbers, .num_rows = kRows, .statuses = statuses}; }
};

// `names`: of one row, `length` tokens long.
void CheckRow(Scheduler& scheduler, Arrays& a, const int32_t* names, int32_t length,
              int32_t num_names) {
  for (int32_t k = 0; k < num_names; ++k) {
    if (k * 2 >= length) {
      if (names[k] != -1) scheduler.Fail("a name behind the row's blocks");
    } else if (names[k] < 1 || names[k] > kBlocks || a.seen[names[k]]) {
      scheduler.Fail("a token without a block of its own");
    } else {
      a.seen[names[k]] = true;
    }
  }
}

template <class G>
void Export(G& g, Scheduler& scheduler, const Table& table, Arrays& a) {
  int32_t last[kRows] = {};
  for (uint32_t i = 0; i < 10; ++i) {
    const ExportTableBatch dense{.batch = a.batch(),
                                 .padded_rows = kPadded,
                                 .naming = {.sentinel = -1},
                                 .table = a.table,
                                 .width = kWidth,
                                 .line_stride = kWidth,
                                 .lengths = a.lengths};
    ExportTable<SchedAtomics, G>(g, table, dense).Run(0, 1);
    g.Sync();
    if (g.rank() == 0) {
      std::fill_n(a.seen, kBlocks + 1, false);
      for (int32_t row = 0; row < kPadded; ++row) {
        CheckRow(scheduler, a, a.table + row * kWidth, a.lengths[row], kWidth);
      }
      for (int32_t row = 0; row < kRows; ++row) {
        if (a.lengths[row] < last[row]) scheduler.Fail("a row became shorter");
        last[row] = a.lengths[row];
      }
    }
    g.Sync();
    const ExportCsrBatch compressed{.batch = a.batch(),
                                    .padded_rows = kPadded,
                                    .naming = {.sentinel = -1},
                                    .indptr = a.indptr,
                                    .indices = a.indices,
                                    .index_capacity = kBlocks,
                                    .last_page_len = a.last_page_len,
                                    .lengths = a.lengths};
    const ExportCsr<SchedAtomics> csr(table, compressed);
    csr.Scan(g);
    g.Sync();
    csr.Fill(g.rank(), g.size());
    g.Sync();
    if (g.rank() == 0) {
      std::fill_n(a.seen, kBlocks + 1, false);
      for (int32_t row = 0; row < kPadded; ++row) {
        CheckRow(scheduler, a, a.indices + a.indptr[row], a.lengths[row],
                 a.indptr[row + 1] - a.indptr[row]);
      }
    }
    g.Sync();
  }
}

std::string Play(uint64_t seed) {
  Random random(seed ^ 0xe4907);
  Scheduler scheduler({.seed = seed, .max_steps = 60000});
  PoolWorld world(scheduler, {.num_blocks = kBlocks, .gate_words = Placement::kContiguous},
                  {1, 2, 3, 4, 5, 6, 7, 8});
  std::vector<uint64_t> memory(PageTableStorage::RequiredBytes(kOptions) / sizeof(uint64_t));
  Carver carver(memory.data());
  const Table table(PageTableStorage::Carve(carver, kOptions));
  table.Init(0, 1);
  Batches batches;
  for (int32_t row = 0; row < kRows; ++row) {
    batches.appended[static_cast<size_t>(row)] = static_cast<int32_t>(random.Below(3));
    batches.drafted[static_cast<size_t>(row)] = static_cast<int32_t>(random.Below(4));
    batches.accepted[static_cast<size_t>(row)] = static_cast<int32_t>(
        random.Below(static_cast<uint32_t>(batches.drafted[static_cast<size_t>(row)]) + 1));
  }
  Arrays arrays;
  SpawnBlock(scheduler, random.Between(1, 2), 2, 0,
             [&](SchedBlock& g) { RunBatches(g, world.pool(), table, batches); });
  SpawnBlock(scheduler, 1, random.Between(1, 3), 0,
             [&](SchedBlock& g) { Export(g, scheduler, table, arrays); });
  return scheduler.Run() ? "" : scheduler.failure();
}

TEST(ExportSched, RowsAreExportedAsTheyWereBeforeOrAfterACommit) { ForEachSeed(2000, Play); }

}  // namespace
}  // namespace kvpage::test
