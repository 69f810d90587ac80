// SPDX-License-Identifier: Apache-2.0
//
// Making and destroying what owns device memory: caches, pools, memory resources.

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <vector>

#include "kvpage/core/cpu_atomics.h"
#include "kvpage/cuda/cuda_block_pool.h"
#include "kvpage/cuda/cuda_kv_cache.h"
#include "kvpage/cuda/cuda_memory_resource.h"
#include "tests/support/cuda_backend.h"
#include "tests/support/failing_resource.h"

namespace kvpage::test {
namespace {

constexpr KvCacheOptions kGood = {
    .num_blocks = 100, .max_sequences = 4, .max_blocks_per_sequence = 8};

TEST(CudaMemoryResource, GivesAlignedMemoryOfItsKind) {
  CudaDeviceMemoryResource device;
  CudaPinnedMemoryResource pinned;
  const auto kind = [](MemoryResource& memory) {
    void* const p = *memory.Allocate(1000, 256);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(p) % 256, 0u);
    cudaPointerAttributes attributes = {};
    EXPECT_EQ(cudaPointerGetAttributes(&attributes, p), cudaSuccess);
    memory.Deallocate(p, 1000, 256);
    return attributes.type;
  };
  EXPECT_EQ(kind(device), cudaMemoryTypeDevice);
  EXPECT_EQ(kind(pinned), cudaMemoryTypeHost);
}

TEST(CudaMemoryResource, WhatItCannotDoIsAStatus) {
  CudaDeviceMemoryResource device;
  CudaPinnedMemoryResource pinned;
  for (MemoryResource* memory :
       {static_cast<MemoryResource*>(&device), static_cast<MemoryResource*>(&pinned)}) {
    EXPECT_EQ(memory->Allocate(1000, 512).status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(memory->Allocate(size_t{1} << 60, 256).status().code(),
              absl::StatusCode::kResourceExhausted);
  }
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);  // the error is not left for somebody else
}

TEST(CudaKvCache, EveryAllocationCanFailAndNothingLeaks) {
  CudaDeviceMemoryResource device;
  FailingResource memory(device);
  KvCacheOptions options = kGood;
  options.memory_resource = &memory;
  memory.FailAfter(0);
  EXPECT_EQ(CreateCudaKvCache(CudaBackend::Stream(), options).status(),
            absl::ResourceExhaustedError("refused by the test"));
  memory.FailAfter(1);
  {
    const auto cache = CreateCudaKvCache(CudaBackend::Stream(), options);
    ASSERT_TRUE(cache.ok());
    for (const uint32_t allocations : {0u, 1u}) {
      memory.FailAfter(allocations);
      EXPECT_FALSE((*cache)->AuditNow(CudaBackend::Stream()).ok());
      EXPECT_EQ(memory.outstanding(), 1u);
    }
    memory.FailAfter(2);
    EXPECT_TRUE((*cache)->AuditNow(CudaBackend::Stream())->ok());
  }
  EXPECT_EQ(memory.outstanding(), 0u);
}

TEST(CudaKvCache, OptionsThatAllowNoCacheAreInvalidAndAskForNothing) {
  FailingResource memory;
  KvCacheOptions options = kGood;
  options.memory_resource = &memory;
  options.num_blocks = 0;
  EXPECT_EQ(CreateCudaKvCache(CudaBackend::Stream(), options).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(memory.asked(), 0u);
}

TEST(CudaKvCache, LiesInTheCallersDeviceMemory) {
  const size_t bytes = *KvCache::RequiredBytes(kGood);
  const StreamRef stream = CudaBackend::Stream();
  CudaDeviceMemoryResource device;
  const OwnedMemory memory = *OwnedMemory::Allocate(device, bytes + 4096, Carver::kAlignment);
  ASSERT_EQ(cudaMemsetAsync(memory.get(), 0x5a, bytes + 4096, stream.get()), cudaSuccess);
  KvCacheOptions options = kGood;
  options.memory = memory.get();
  options.memory_bytes = bytes;
  const auto cache = CreateCudaKvCache(stream, options);
  ASSERT_TRUE(cache.ok());
  EXPECT_TRUE((*cache)->AuditNow(stream)->ok());
  std::vector<char> beyond(4096);
  ASSERT_EQ(cudaMemcpy(beyond.data(), static_cast<char*>(memory.get()) + bytes, 4096,
                       cudaMemcpyDeviceToHost),
            cudaSuccess);
  EXPECT_EQ(beyond, std::vector<char>(4096, 0x5a));
  options.memory_bytes = bytes - 1;
  EXPECT_EQ(CreateCudaKvCache(stream, options).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(CudaBlockPool, BeginsWithEveryBlockFree) {
  const StreamRef stream = CudaBackend::Stream();
  CudaDeviceMemoryResource device;
  FailingResource memory(device);
  memory.FailAfter(0);
  EXPECT_EQ(CudaBlockPool::Create(stream, {.num_blocks = 5000}, &memory).status(),
            absl::ResourceExhaustedError("refused by the test"));
  EXPECT_EQ(CudaBlockPool::Create(stream, {.num_blocks = 0}).status().code(),
            absl::StatusCode::kInvalidArgument);
  memory.FailAfter(1);
  {
    const auto pool = CudaBlockPool::Create(stream, {.num_blocks = 5000}, &memory);
    ASSERT_TRUE(pool.ok());
    EXPECT_EQ(pool->num_blocks(), 5000u);
    const FreeBitsStorage& bits = pool->storage().bits;
    std::vector<uint64_t> leaves(bits.num_leaves());
    CudaBackend::Access().download(leaves.data(), bits.leaves, leaves.size() * sizeof(uint64_t));
    uint32_t free = 0;
    for (const uint64_t leaf : leaves) free += PopCount(leaf);
    EXPECT_EQ(free, 5000u);
    const GateStorage& gate = pool->storage().gate;
    std::vector<uint64_t> words(GateStorage::NumWords(gate.num_shards, gate.stride));
    CudaBackend::Access().download(words.data(), gate.words, words.size() * sizeof(uint64_t));
    GateStorage copy = gate;
    copy.words = words.data();
    EXPECT_EQ(GateCountersRef<CpuAtomics>(copy).FreeBounds().lower, 5000);
    EXPECT_EQ(GateCountersRef<CpuAtomics>(copy).FreeBounds().upper, 5000);
  }
  EXPECT_EQ(memory.outstanding(), 0u);
}

}  // namespace
}  // namespace kvpage::test
