// SPDX-License-Identifier: Apache-2.0

#include "kvpage/owned_memory.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <type_traits>
#include <utility>

#include "kvpage/memory_resource.h"
#include "kvpage/stream_ref.h"
#include "tests/support/failing_resource.h"

namespace kvpage {
namespace {

using test::FailingResource;

TEST(HostMemoryResource, GivesAlignedMemory) {
  HostMemoryResource memory;
  for (const size_t alignment : {8u, 64u, 256u, 4096u}) {
    absl::StatusOr<void*> p = memory.Allocate(1000, alignment);
    ASSERT_TRUE(p.ok());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(*p) % alignment, 0u);
    memory.Deallocate(*p, 1000, alignment);
  }
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they end the program
TEST(HostMemoryResource, TooMuchIsResourceExhausted) {
  HostMemoryResource memory;
  EXPECT_EQ(memory.Allocate(size_t{1} << 60, 64).status().code(),
            absl::StatusCode::kResourceExhausted);
}
#endif

TEST(OwnedMemory, GivesItsMemoryBackOnce) {
  FailingResource memory;
  {
    absl::StatusOr<OwnedMemory> owned = OwnedMemory::Allocate(memory, 100, 64);
    ASSERT_TRUE(owned.ok());
    EXPECT_NE(owned->get(), nullptr);
    EXPECT_EQ(owned->bytes(), 100u);
    EXPECT_EQ(memory.outstanding(), 1u);
  }
  EXPECT_EQ(memory.outstanding(), 0u);
}

TEST(OwnedMemory, AnswersTheErrorOfTheResource) {
  FailingResource memory;
  memory.FailAfter(0);
  const absl::StatusOr<OwnedMemory> owned = OwnedMemory::Allocate(memory, 100, 64);
  EXPECT_EQ(owned.status(), absl::ResourceExhaustedError("refused by the test"));
}

TEST(OwnedMemory, MovesWithoutLeaks) {
  FailingResource memory;
  OwnedMemory a = *OwnedMemory::Allocate(memory, 100, 64);
  void* const where = a.get();
  OwnedMemory b(std::move(a));
  EXPECT_EQ(b.get(), where);
  EXPECT_EQ(a.get(), nullptr);  // NOLINT: what a moved-from object promises here
  EXPECT_EQ(a.bytes(), 0u);
  {
    OwnedMemory c = *OwnedMemory::Allocate(memory, 50, 32);
    c = std::move(b);
    EXPECT_EQ(c.get(), where);
    EXPECT_EQ(c.bytes(), 100u);
    OwnedMemory& same = c;
    c = std::move(same);
    EXPECT_EQ(c.get(), where);
  }
}

TEST(OwnedMemory, BorrowsWhatIsLargeEnoughAndAligned) {
  alignas(256) char memory[512];
  absl::StatusOr<OwnedMemory> borrowed = OwnedMemory::Borrow(memory, 512, 500, 256);
  ASSERT_TRUE(borrowed.ok());
  EXPECT_EQ(borrowed->get(), memory);
  const auto code = [](void* at, size_t available, size_t bytes) {
    return OwnedMemory::Borrow(at, available, bytes, 256).status().code();
  };
  EXPECT_EQ(code(memory, 512, 512), absl::StatusCode::kOk);
  EXPECT_EQ(code(memory, 511, 512), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code(memory + 8, 504, 100), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code(nullptr, 512, 100), absl::StatusCode::kInvalidArgument);
}

TEST(StreamRef, HoldsAStreamAndNoLiteral) {
  int dummy = 0;
  auto* const stream = reinterpret_cast<CUstream_st*>(&dummy);
  EXPECT_EQ(StreamRef(stream).get(), stream);
  EXPECT_EQ(StreamRef::Default().get(), nullptr);
  static_assert(!std::is_constructible_v<StreamRef, int>);
  static_assert(!std::is_constructible_v<StreamRef, std::nullptr_t>);
  static_assert(!std::is_convertible_v<CUstream_st*, StreamRef>);
  static_assert(!std::is_default_constructible_v<StreamRef>);
}

}  // namespace
}  // namespace kvpage
