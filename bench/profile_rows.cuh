// SPDX-License-Identifier: Apache-2.0
//
// bench/profile_rows.cuh
//
// The page table under the profiler. The tags are those of profile_pool.cuh:
//
//   CommitRows<Tag>    1024 rows commit 0 to 4 tokens of their drafts under a fence, a lane for
//                      each row, as KvCache::CommitDraft does it

#ifndef KVPAGE_BENCH_PROFILE_ROWS_CUH_
#define KVPAGE_BENCH_PROFILE_ROWS_CUH_

#include <cstdint>
#include <vector>

#include "bench/gpu_timer.h"
#include "bench/profile_pool.cuh"
#include "kvpage/core/append_rows.h"
#include "kvpage/core/begin_draft.h"
#include "kvpage/core/commit_draft.h"
#include "kvpage/cuda/kvpage.cuh"

namespace kvpage::bench::profile {

inline constexpr int32_t kDraftTokens = 4;
inline constexpr int32_t kBlockTokens = 16;
inline constexpr uint64_t kEpoch = 1;  // never completed

__global__ void InitRows(const __grid_constant__ BlockPoolStorage pool,
                         const __grid_constant__ PageTableStorage table) {
  const uint64_t num_threads = uint64_t{gridDim.x} * blockDim.x;
  CudaBlockPoolRef(pool).Init(Thread(), num_threads);
  CudaPageTableRef(table).Init(Thread(), num_threads);
}

template <template <class, class> class Operation, class Batch>
__device__ void RunByBlock(const BlockPoolStorage& pool_storage,
                           const PageTableStorage& table_storage, const Batch& batch) {
  __shared__ ThreadBlockScratch scratch;
  ThreadBlockGroup block(scratch);
  const CudaBlockPoolRef pool(pool_storage);
  const CudaPageTableRef table(table_storage);
  Operation<CudaAtomics, ThreadBlockGroup>(block, pool, table, batch).Run();
}

__global__ void __launch_bounds__(1024) OpenRows(const __grid_constant__ BlockPoolStorage pool,
                                                 const __grid_constant__ PageTableStorage table,
                                                 const __grid_constant__ AppendBatch batch) {
  RunByBlock<AppendRows>(pool, table, batch);
}

__global__ void __launch_bounds__(1024) BeginRows(const __grid_constant__ BlockPoolStorage pool,
                                                  const __grid_constant__ PageTableStorage table,
                                                  const __grid_constant__ BeginDraftBatch batch) {
  RunByBlock<BeginDraft>(pool, table, batch);
}

template <class Tag>
__global__ void __launch_bounds__(1024) CommitRows(const __grid_constant__ BlockPoolStorage pool,
                                                   const __grid_constant__ PageTableStorage table,
                                                   const __grid_constant__ CommitDraftBatch batch) {
  RunByBlock<CommitDraft>(pool, table, batch);
}

// A pool and a table whose words lie as the tag says. The rows' lengths are staggered, so that 3
// drafts in 16 cross the edge of a block.
template <class Tag>
class Rows {
 public:
  Rows()
      : memory_(BlockPoolStorage::RequiredBytes(kPool) + PageTableStorage::RequiredBytes(kTable)),
        numbers_(Each([](int32_t row) { return row; })),
        lengths_(Each([](int32_t row) { return row % kBlockTokens + 1; })),
        drafted_(Each([](int32_t) { return kDraftTokens; })),
        accepted_(Each([](int32_t row) { return row / kBlockTokens % (kDraftTokens + 1); })),
        statuses_(std::vector<OpStatus>(3 * kRows, OpStatus::kInvalid)) {
    Carver carver(memory_.get());
    pool_ = BlockPoolStorage::Carve(carver, kPool);
    table_ = PageTableStorage::Carve(carver, kTable);
  }

  // Rows that are open and have no draft.
  void Reset() const {
    InitRows<<<1024, kThreads>>>(pool_, table_);
    OpenRows<<<1, kRows>>>(pool_, table_, {.batch = Batch(0), .tokens = lengths_.get()});
  }
  void BeginDrafts() const {
    BeginRows<<<1, kRows>>>(pool_, table_, {.batch = Batch(1), .tokens = drafted_.get()});
  }
  void Commit() const {
    CommitRows<Tag><<<1, kRows>>>(
        pool_, table_, {.batch = Batch(2), .tokens = accepted_.get(), .fence = {.epoch = kEpoch}});
  }
  // Whether every row was, in the latest run. Waits for it.
  bool AllServed() const {
    for (const OpStatus status : statuses_.Download()) {
      if (status != OpStatus::kOk) return false;
    }
    return true;
  }

 private:
  static constexpr BlockPoolOptions kPool = {
      .num_blocks = kPoolBlocks, .block_words = Tag::kBlocks, .gate_words = Tag::kGate};
  static constexpr PageTableOptions kTable = {.max_sequences = kRows,
                                              .max_blocks_per_sequence = 8,
                                              .block_tokens = kBlockTokens,
                                              .sequence_words = Tag::kSequences,
                                              .max_draft_tokens = kDraftTokens};

  template <class Value>
  static std::vector<int32_t> Each(Value value) {
    std::vector<int32_t> values(kRows);
    for (uint32_t row = 0; row < kRows; ++row) values[row] = value(static_cast<int32_t>(row));
    return values;
  }
  RowBatch Batch(uint32_t operation) const {
    return {.rows = numbers_.get(),
            .num_rows = static_cast<int32_t>(kRows),
            .statuses = statuses_.get() + operation * kRows};
  }

  DeviceArray<char> memory_;
  DeviceArray<int32_t> numbers_;
  DeviceArray<int32_t> lengths_;
  DeviceArray<int32_t> drafted_;
  DeviceArray<int32_t> accepted_;
  DeviceArray<OpStatus> statuses_;
  BlockPoolStorage pool_;
  PageTableStorage table_;
};

}  // namespace kvpage::bench::profile

#endif  // KVPAGE_BENCH_PROFILE_ROWS_CUH_
