// SPDX-License-Identifier: Apache-2.0
//
// Kernels that use the pool and the page table of a cache on a GPU: slots read in a kernel, and
// batch operations on one stream while kernels on other streams allocate in the same pool and read
// the rows.

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <vector>

#include "kvpage/cuda/cuda_kv_cache.h"
#include "tests/conformance/pool_site.h"
#include "tests/cuda/in_kernel_launch.h"

namespace kvpage::test {
namespace {

bool IsSmallRun() {
  const char* small = std::getenv("KVPAGE_TEST_SMALL");
  return small != nullptr && std::string_view(small) == "1";
}

class Stream {
 public:
  Stream() { EXPECT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess); }
  ~Stream() { EXPECT_EQ(cudaStreamDestroy(stream_), cudaSuccess); }
  Stream(const Stream&) = delete;
  cudaStream_t get() const { return stream_; }
  StreamRef ref() const { return StreamRef(stream_); }

 private:
  cudaStream_t stream_ = nullptr;
};

// Arrays that host and device both reach. They live as long as the test.
class InKernelCache : public testing::Test {
 protected:
  ~InKernelCache() override {
    for (void* memory : pinned_) EXPECT_EQ(cudaFreeHost(memory), cudaSuccess);
    for (void* memory : device_) EXPECT_EQ(cudaFree(memory), cudaSuccess);
  }
  template <class T>
  T* Pinned(size_t count, T value = {}) {
    void* memory = nullptr;
    EXPECT_EQ(cudaMallocHost(&memory, count * sizeof(T)), cudaSuccess);
    pinned_.push_back(memory);
    T* const array = static_cast<T*>(memory);
    for (size_t i = 0; i < count; ++i) array[i] = value;
    return array;
  }
  // Zeroed.
  template <class T>
  T* Device(size_t count) {
    void* memory = nullptr;
    EXPECT_EQ(cudaMalloc(&memory, count * sizeof(T)), cudaSuccess);
    EXPECT_EQ(cudaMemset(memory, 0, count * sizeof(T)), cudaSuccess);
    device_.push_back(memory);
    return static_cast<T*>(memory);
  }

  void Create(const KvCacheOptions& options) {
    auto cache = CreateCudaKvCache(batch_stream_.ref(), options);
    ASSERT_TRUE(cache.ok()) << cache.status();
    cache_ = *std::move(cache);
    ASSERT_TRUE(cache_->Synchronize(batch_stream_.ref()).ok());
  }

  Stream batch_stream_;
  std::unique_ptr<KvCache> cache_;

 private:
  std::vector<void*> pinned_;
  std::vector<void*> device_;
};

TEST_F(InKernelCache, AKernelReadsTheSlotsThatAppendMapped) {
  constexpr int32_t kRows = 5;
  constexpr int32_t kTokens[kRows] = {1, 16, 17, 100, 63};
  constexpr int32_t kTotal = 197;
  Create({.num_blocks = 64, .block_tokens = 16, .max_sequences = 8, .max_blocks_per_sequence = 8});
  if (HasFatalFailure()) return;
  auto* rows = Pinned<int32_t>(kRows);
  auto* tokens = Pinned<int32_t>(kRows);
  auto* statuses = Pinned<OpStatus>(kRows, OpStatus::kInvalid);
  auto* mapped = Pinned<int64_t>(kTotal);
  // One question per token, and one past the end of each row, before its start, and in a row that
  // is closed.
  auto* row_of = Pinned<int32_t>(kTotal + 3);
  auto* position_of = Pinned<int64_t>(kTotal + 3);
  auto* slots = Pinned<int64_t>(kTotal + 3);
  int32_t at = 0;
  for (int32_t i = 0; i < kRows; ++i) {
    rows[i] = 7 - i;
    tokens[i] = kTokens[i];
    for (int32_t p = 0; p < kTokens[i]; ++p, ++at) {
      row_of[at] = rows[i];
      position_of[at] = p;
    }
  }
  ASSERT_EQ(at, kTotal);
  row_of[at] = rows[2];
  position_of[at] = kTokens[2];
  row_of[at + 1] = rows[0];
  position_of[at + 1] = -1;
  row_of[at + 2] = 0;
  position_of[at + 2] = 0;

  ASSERT_TRUE(cache_
                  ->Append(batch_stream_.ref(),
                           {.batch = {.rows = rows, .num_rows = kRows, .statuses = statuses},
                            .tokens = tokens,
                            .slots = mapped,
                            .slot_capacity = kTotal})
                  .ok());
  ASSERT_EQ(
      LaunchReadSlots(batch_stream_.get(), cache_->table(), row_of, position_of, kTotal + 3, slots),
      cudaSuccess);
  ASSERT_TRUE(cache_->Synchronize(batch_stream_.ref()).ok());
  for (int32_t i = 0; i < kRows; ++i) EXPECT_EQ(statuses[i], OpStatus::kOk);
  for (int32_t i = 0; i < kTotal; ++i) {
    EXPECT_GE(mapped[i], 16);
    EXPECT_EQ(slots[i], mapped[i]) << "token " << i;
  }
  for (int32_t i = kTotal; i < kTotal + 3; ++i) EXPECT_EQ(slots[i], -1);
}

// The rows and the warps each keep to their budget, so nobody may ever be told Full.
TEST_F(InKernelCache, BatchesAndKernelsShareThePoolAtTheSameTime) {
  const uint32_t warps = IsSmallRun() ? 8 : 512;
  const uint32_t gatherers = warps / 8;
  const uint32_t per_lane = 5;
  const int32_t num_rows = IsSmallRun() ? 40 : 300;
  const uint32_t row_blocks = 8;
  const int32_t batches = IsSmallRun() ? 6 : 200;
  const uint32_t num_blocks = static_cast<uint32_t>(num_rows) * row_blocks +
                              32 * (warps - gatherers + gatherers * per_lane);
  Create({.num_blocks = num_blocks,
          .block_tokens = 4,
          .max_sequences = static_cast<uint32_t>(num_rows),
          .max_blocks_per_sequence = row_blocks});
  if (HasFatalFailure()) return;

  auto* findings = Pinned<Findings>(1);
  const PoolWatch watch = {.holders = Device<uint32_t>(num_blocks + 1),
                           .kv = Device<KvCookie>(num_blocks + 1),
                           .ids = Device<BlockId>(32 * warps * per_lane),
                           .findings = Device<Findings>(1)};
  auto* rows = Pinned<int32_t>(num_rows);
  auto* tokens = Pinned<int32_t>(num_rows);
  auto* statuses = Pinned<OpStatus>(size_t(num_rows) * batches * 2, OpStatus::kInvalid);
  for (int32_t i = 0; i < num_rows; ++i) {
    rows[i] = i;
    tokens[i] = 1 + i % static_cast<int32_t>(row_blocks * 4);
  }
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);

  Stream kernel_stream;
  ASSERT_EQ(LaunchBudgets(kernel_stream.get(), cache_->pool(), watch, warps, gatherers, per_lane,
                          IsSmallRun() ? 10 : 1000),
            cudaSuccess);
  for (int32_t b = 0; b < batches; ++b) {
    RowBatch batch = {.rows = rows, .num_rows = num_rows, .statuses = statuses + 2 * b * num_rows};
    ASSERT_TRUE(cache_->Append(batch_stream_.ref(), {.batch = batch, .tokens = tokens}).ok());
    batch.statuses += num_rows;
    ASSERT_TRUE(cache_->Close(batch_stream_.ref(), {.batch = batch}).ok());
  }
  ASSERT_TRUE(cache_->Synchronize(batch_stream_.ref()).ok());
  ASSERT_TRUE(cache_->Synchronize(kernel_stream.ref()).ok());

  for (int32_t i = 0; i < 2 * batches * num_rows; ++i) ASSERT_EQ(statuses[i], OpStatus::kOk) << i;
  ASSERT_EQ(cudaMemcpy(findings, watch.findings, sizeof(Findings), cudaMemcpyDefault), cudaSuccess);
  EXPECT_EQ(findings->errors(), 0u);
  EXPECT_EQ(findings->full, 0u);
  EXPECT_GT(findings->taken, 0u);
  auto report = cache_->AuditNow(batch_stream_.ref());
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report->ok());
  EXPECT_EQ(report->free_blocks, num_blocks);
}

TEST_F(InKernelCache, ReadersOfAGrowingRowSeeSettledSlots) {
  constexpr int32_t kTokens = 400;
  Create(
      {.num_blocks = 200, .block_tokens = 4, .max_sequences = 2, .max_blocks_per_sequence = 100});
  if (HasFatalFailure()) return;
  auto* row = Pinned<int32_t>(1, 1);
  auto* one = Pinned<int32_t>(1, 1);
  auto* statuses = Pinned<OpStatus>(kTokens, OpStatus::kInvalid);
  auto* seen = Pinned<int64_t>(kTokens, -1);
  auto* errors = Device<uint64_t>(1);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);

  Stream reader_stream;
  for (int32_t i = 0; i < kTokens; ++i) {
    // A reader every now and then, so that it runs beside the appends that follow.
    if (i % 50 == 0) {
      ASSERT_EQ(LaunchReadGrowingRow(reader_stream.get(), cache_->pool(), cache_->table(), 1,
                                     IsSmallRun() ? 5 : 200, seen, errors),
                cudaSuccess);
    }
    ASSERT_TRUE(cache_
                    ->Append(batch_stream_.ref(),
                             {.batch = {.rows = row, .num_rows = 1, .statuses = statuses + i},
                              .tokens = one})
                    .ok());
  }
  ASSERT_TRUE(cache_->Synchronize(batch_stream_.ref()).ok());
  ASSERT_EQ(LaunchReadGrowingRow(reader_stream.get(), cache_->pool(), cache_->table(), 1, 1, seen,
                                 errors),
            cudaSuccess);
  ASSERT_TRUE(cache_->Synchronize(reader_stream.ref()).ok());
  for (int32_t i = 0; i < kTokens; ++i) {
    ASSERT_EQ(statuses[i], OpStatus::kOk);
    EXPECT_GE(seen[i], 4) << "token " << i;
  }
  uint64_t found = 1;
  ASSERT_EQ(cudaMemcpy(&found, errors, sizeof(found), cudaMemcpyDefault), cudaSuccess);
  EXPECT_EQ(found, 0u);
}

}  // namespace
}  // namespace kvpage::test
