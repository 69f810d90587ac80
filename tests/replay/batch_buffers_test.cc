// SPDX-License-Identifier: Apache-2.0

#include "tools/replay/batch_buffers.h"

#include <gtest/gtest.h>

#include <utility>

#include "absl/status/status.h"

namespace kvpage::replay {
namespace {

class CountingMemory : public MemoryResource {
 public:
  absl::StatusOr<void*> Allocate(size_t bytes, size_t alignment) override {
    if (refuses) return absl::ResourceExhaustedError("no");
    held_bytes += bytes;
    return host_.Allocate(bytes, alignment);
  }
  void Deallocate(void* memory, size_t bytes, size_t alignment) noexcept override {
    held_bytes -= bytes;
    host_.Deallocate(memory, bytes, alignment);
  }

  bool refuses = false;
  size_t held_bytes = 0;

 private:
  HostMemoryResource host_;
};

TEST(BatchBuffersTest, HasArraysThatDoNotOverlapAndGivesTheMemoryBack) {
  CountingMemory memory;
  {
    auto created = BatchBuffers::Create(memory, 3, 5);
    ASSERT_TRUE(created.ok());
    const BatchBuffers buffers = *std::move(created);
    for (int i = 0; i < 3; ++i) {
      buffers.rows()[i] = i;
      buffers.tokens()[i] = 10 + i;
      buffers.statuses()[i] = OpStatus::kFull;
    }
    for (int64_t& slot : buffers.slots()) slot = -1;
    EXPECT_EQ(buffers.rows().size(), 3u);
    EXPECT_EQ(buffers.tokens().size(), 3u);
    EXPECT_EQ(buffers.statuses().size(), 3u);
    EXPECT_EQ(buffers.slots().size(), 5u);
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(buffers.rows()[i], i);
      EXPECT_EQ(buffers.tokens()[i], 10 + i);
      EXPECT_EQ(buffers.statuses()[i], OpStatus::kFull);
    }
    EXPECT_GT(memory.held_bytes, 0u);
  }
  EXPECT_EQ(memory.held_bytes, 0u);
}

TEST(BatchBuffersTest, PassesOnThatThereIsNoMemory) {
  CountingMemory memory;
  memory.refuses = true;
  EXPECT_TRUE(absl::IsResourceExhausted(BatchBuffers::Create(memory, 3, 5).status()));
}

}  // namespace
}  // namespace kvpage::replay
