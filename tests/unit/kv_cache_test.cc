// SPDX-License-Identifier: Apache-2.0
//
// Making a cache, on the CPU: options, memory, and every allocation failing in turn. Its operations
// are in tests/conformance.

#include "kvpage/kv_cache.h"

#include <gtest/gtest.h>

#include <cstring>
#include <utility>
#include <vector>

#include "kvpage/version.h"
#include "tests/support/failing_resource.h"

namespace kvpage {
namespace {

using test::FailingResource;

constexpr KvCacheOptions kGood = {
    .num_blocks = 100, .max_sequences = 4, .max_blocks_per_sequence = 8};

TEST(KvCache, OptionsThatAllowNoCacheAreInvalid) {
  const std::vector<void (*)(KvCacheOptions&)> spoils = {
      [](KvCacheOptions& o) { o.num_blocks = 0; },
      [](KvCacheOptions& o) { o.num_blocks = kMaxBlocks + 1; },
      [](KvCacheOptions& o) { o.block_tokens = 0; },
      [](KvCacheOptions& o) { o.max_sequences = 0; },
      [](KvCacheOptions& o) { o.max_blocks_per_sequence = 0; },
      [](KvCacheOptions& o) { o.max_blocks_per_sequence = 1u << 31; },
      [](KvCacheOptions& o) { o.blocks_per_shard = 63; }};
  for (const auto spoil : spoils) {
    KvCacheOptions options = kGood;
    spoil(options);
    FailingResource memory;
    options.memory_resource = &memory;
    EXPECT_EQ(KvCache::RequiredBytes(options).status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(CreateCpuKvCache(options).status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(memory.asked(), 0u);
  }
}

TEST(KvCache, EveryAllocationCanFailAndNothingLeaks) {
  FailingResource memory;
  KvCacheOptions options = kGood;
  options.memory_resource = &memory;
  uint32_t allocations = 0;
  for (;; ++allocations) {
    memory.FailAfter(allocations);
    const auto cache = CreateCpuKvCache(options);
    if (cache.ok()) break;
    EXPECT_EQ(cache.status(), absl::ResourceExhaustedError("refused by the test"));
    EXPECT_EQ(memory.outstanding(), 0u);
  }
  EXPECT_EQ(allocations, 1u);
  EXPECT_EQ(memory.outstanding(), 0u);
}

TEST(KvCache, EveryAllocationOfADiagnosticCanFailAndNothingLeaks) {
  FailingResource memory;
  KvCacheOptions options = kGood;
  options.memory_resource = &memory;
  const auto cache = CreateCpuKvCache(options);
  ASSERT_TRUE(cache.ok());
  for (const uint32_t allocations : {0u, 1u}) {
    memory.FailAfter(allocations);
    const absl::Status status = (*cache)->AuditNow(StreamRef::Default()).status();
    EXPECT_EQ(status, absl::ResourceExhaustedError("refused by the test"));
    EXPECT_EQ(memory.outstanding(), 1u);
  }
  memory.FailAfter(2);
  EXPECT_TRUE((*cache)->AuditNow(StreamRef::Default()).ok());
  memory.FailAfter(0);
  EXPECT_FALSE((*cache)->StateHashNow(StreamRef::Default()).ok());
  memory.FailAfter(1);
  EXPECT_TRUE((*cache)->StateHashNow(StreamRef::Default()).ok());
  EXPECT_EQ(memory.outstanding(), 1u);
}

TEST(KvCache, OperationsAllocateNothing) {
  FailingResource memory;
  KvCacheOptions options = kGood;
  options.memory_resource = &memory;
  const auto cache = CreateCpuKvCache(options);
  ASSERT_TRUE(cache.ok());
  const uint32_t asked = memory.asked();
  const int32_t row = 0, child = 1, tokens = 20;
  OpStatus status;
  BlockCopy copy;
  const RowBatch batch = {.rows = &row, .num_rows = 1, .statuses = &status};
  const StreamRef stream = StreamRef::Default();
  EXPECT_TRUE((*cache)->Append(stream, {.batch = batch, .tokens = &tokens}).ok());
  const RowBatch children = {.rows = &child, .num_rows = 1, .statuses = &status};
  EXPECT_TRUE((*cache)->Fork(stream, {children, &row, &tokens, &copy}).ok());
  EXPECT_TRUE((*cache)->Close(stream, {batch}).ok());
  EXPECT_EQ(status, OpStatus::kOk);
  EXPECT_EQ(memory.asked(), asked);
}

TEST(KvCache, LiesInTheCallersMemory) {
  const size_t bytes = *KvCache::RequiredBytes(kGood);
  alignas(Carver::kAlignment) static char memory[1 << 16];
  ASSERT_LT(bytes, sizeof(memory));
  std::memset(memory, 0x5a, sizeof(memory));
  KvCacheOptions options = kGood;
  options.memory = memory;
  options.memory_bytes = bytes;
  FailingResource none;
  options.memory_resource = &none;
  {
    const auto cache = CreateCpuKvCache(options);
    ASSERT_TRUE(cache.ok());
    EXPECT_EQ(none.asked(), 0u);
    EXPECT_TRUE((*cache)->AuditNow(StreamRef::Default())->ok());
    const auto* const entries = reinterpret_cast<const char*>((*cache)->table().entries);
    EXPECT_TRUE(entries >= memory && entries < memory + bytes);
  }
  for (size_t i = bytes; i < sizeof(memory); ++i) ASSERT_EQ(memory[i], 0x5a) << "beyond the memory";
  options.memory_bytes = bytes - 1;
  EXPECT_EQ(CreateCpuKvCache(options).status().code(), absl::StatusCode::kInvalidArgument);
  options.memory_bytes = sizeof(memory) - 8;
  options.memory = memory + 8;
  EXPECT_EQ(CreateCpuKvCache(options).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(KvCache, NeedsNoOptionsForMemory) {
  const auto cache = CreateCpuKvCache(kGood);
  ASSERT_TRUE(cache.ok());
  EXPECT_TRUE((*cache)->AuditNow(StreamRef::Default())->ok());
  EXPECT_EQ((*cache)->pool().num_blocks(), 100u);
  EXPECT_EQ((*cache)->table().block_tokens, 16u);
}

static_assert(KVPAGE_VERSION_MAJOR == 0 && KVPAGE_VERSION_MINOR >= 1 && KVPAGE_VERSION_PATCH >= 0);

}  // namespace
}  // namespace kvpage
