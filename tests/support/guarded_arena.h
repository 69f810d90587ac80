// SPDX-License-Identifier: Apache-2.0
//
// tests/support/guarded_arena.h
//
// Arrays that a test hands to an operation, with guard bytes around each, so that a write beside an
// array is noticed. One allocation, in memory that the test and the backend both reach.
//
// Not thread-safe. A test that needs more than the arena has fails.

#ifndef KVPAGE_TESTS_SUPPORT_GUARDED_ARENA_H_
#define KVPAGE_TESTS_SUPPORT_GUARDED_ARENA_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "kvpage/core/bits.h"
#include "kvpage/owned_memory.h"

namespace kvpage::test {

class GuardedArena {
 public:
  GuardedArena(MemoryResource& resource, size_t bytes) {
    absl::StatusOr<OwnedMemory> memory = OwnedMemory::Allocate(resource, bytes, kAlignment);
    EXPECT_TRUE(memory.ok()) << memory.status();
    if (!memory.ok()) return;
    memory_ = *std::move(memory);
    std::fill_n(begin(), bytes, kGuard);
  }

  // A copy of the values. Never null; an array of none has guards as well.
  template <class T>
  T* Take(const std::vector<T>& values) {
    const size_t bytes = values.size() * sizeof(T);
    const size_t at = end_ + kAlignment;
    if (at + bytes + kAlignment > memory_.bytes()) {
      ADD_FAILURE() << "the arena is too small for " << bytes << " bytes more";
      return nullptr;
    }
    end_ = RoundUp(at + bytes, kAlignment);
    used_.emplace_back(at, bytes);
    T* const array = reinterpret_cast<T*>(begin() + at);
    std::copy(values.begin(), values.end(), array);
    return array;
  }

  // Takes all arrays back. False: somebody wrote beside them.
  bool Reset() {
    for (const auto& [at, bytes] : used_) std::fill_n(begin() + at, bytes, kGuard);
    const bool intact =
        std::all_of(begin(), begin() + end_ + kAlignment, [](std::byte b) { return b == kGuard; });
    std::fill_n(begin(), end_ + kAlignment, kGuard);
    used_.clear();
    end_ = 0;
    return intact;
  }

 private:
  static constexpr size_t kAlignment = 64;
  static constexpr std::byte kGuard{0xa5};

  std::byte* begin() const { return static_cast<std::byte*>(memory_.get()); }

  OwnedMemory memory_;
  size_t end_ = 0;
  std::vector<std::pair<size_t, size_t>> used_;
};

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_SUPPORT_GUARDED_ARENA_H_
