// SPDX-License-Identifier: Apache-2.0
//
// What kvpage::cuda answers where there is no GPU: a status, and nothing leaked. CTest hides the
// GPUs from this test (CUDA_VISIBLE_DEVICES is empty), so it runs everywhere.

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include "kvpage/cuda/cuda_block_pool.h"
#include "kvpage/cuda/cuda_kv_cache.h"
#include "kvpage/cuda/cuda_memory_resource.h"
#include "tests/support/failing_resource.h"

namespace kvpage::test {
namespace {

constexpr KvCacheOptions kGood = {
    .num_blocks = 100, .max_sequences = 4, .max_blocks_per_sequence = 8};

class WithoutGpu : public testing::Test {
 protected:
  void SetUp() override {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0) {
      GTEST_SKIP() << "there is a GPU: run with CUDA_VISIBLE_DEVICES=";
    }
  }
};

TEST_F(WithoutGpu, CreateIsUnavailable) {
  EXPECT_EQ(CreateCudaKvCache(StreamRef::Default(), kGood).status().code(),
            absl::StatusCode::kUnavailable);
  EXPECT_EQ(CudaBlockPool::Create(StreamRef::Default(), {.num_blocks = 10}).status().code(),
            absl::StatusCode::kUnavailable);
  EXPECT_EQ(CudaPinnedMemoryResource().Allocate(100, 64).status().code(),
            absl::StatusCode::kUnavailable);
}

TEST_F(WithoutGpu, BadOptionsAreStillInvalid) {
  KvCacheOptions options = kGood;
  options.max_sequences = 0;
  EXPECT_EQ(CreateCudaKvCache(StreamRef::Default(), options).status().code(),
            absl::StatusCode::kInvalidArgument);
}

// The launch that fails is the initialisation: the memory is given back.
TEST_F(WithoutGpu, AFailedLaunchLeaksNothing) {
  FailingResource memory;
  KvCacheOptions options = kGood;
  options.memory_resource = &memory;
  EXPECT_FALSE(CreateCudaKvCache(StreamRef::Default(), options).ok());
  EXPECT_EQ(memory.asked(), 1u);
  EXPECT_FALSE(CudaBlockPool::Create(StreamRef::Default(), {.num_blocks = 10}, &memory).ok());
  EXPECT_EQ(memory.outstanding(), 0u);
}

}  // namespace
}  // namespace kvpage::test
