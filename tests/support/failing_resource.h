// SPDX-License-Identifier: Apache-2.0
//
// tests/support/failing_resource.h
//
// A memory resource that refuses when told to and knows what it has handed out: for tests that make
// every allocation fail in turn and look for leaks. Not thread-safe.
//
// Example:
//   FailingResource memory;            // or FailingResource memory(device_memory);
//   memory.FailAfter(2);               // two allocations succeed, the next ones are refused
//   ...
//   EXPECT_EQ(memory.outstanding(), 0u);

#ifndef KVPAGE_TESTS_SUPPORT_FAILING_RESOURCE_H_
#define KVPAGE_TESTS_SUPPORT_FAILING_RESOURCE_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <utility>

#include "absl/status/status.h"

#include "kvpage/memory_resource.h"

namespace kvpage::test {

class FailingResource : public MemoryResource {
 public:
  FailingResource() : from_(host_) {}
  explicit FailingResource(MemoryResource& from) : from_(from) {}
  ~FailingResource() override { EXPECT_TRUE(sizes_.empty()) << "memory was leaked"; }

  void FailAfter(uint32_t allocations) { left_ = allocations; }
  // Blocks of memory handed out and not given back.
  size_t outstanding() const { return sizes_.size(); }
  // Allocations that were asked for.
  uint32_t asked() const { return asked_; }

  absl::StatusOr<void*> Allocate(size_t bytes, size_t alignment) override {
    ++asked_;
    if (left_ == 0) return absl::ResourceExhaustedError("refused by the test");
    --left_;
    absl::StatusOr<void*> memory = from_.Allocate(bytes, alignment);
    if (memory.ok()) sizes_[*memory] = {bytes, alignment};
    return memory;
  }
  void Deallocate(void* memory, size_t bytes, size_t alignment) noexcept override {
    const auto found = sizes_.find(memory);
    if (found == sizes_.end()) {
      ADD_FAILURE() << "memory that was not handed out is given back";
      return;
    }
    EXPECT_EQ(found->second, (std::pair{bytes, alignment}));
    sizes_.erase(found);
    from_.Deallocate(memory, bytes, alignment);
  }

 private:
  HostMemoryResource host_;
  MemoryResource& from_;
  uint32_t left_ = ~0u;
  uint32_t asked_ = 0;
  std::map<void*, std::pair<size_t, size_t>> sizes_;
};

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_SUPPORT_FAILING_RESOURCE_H_
