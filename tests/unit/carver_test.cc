// SPDX-License-Identifier: Apache-2.0

#include "kvpage/core/carver.h"

#include <gtest/gtest.h>

namespace kvpage {
namespace {

TEST(Carver, CountsWithoutMemory) {
  Carver carver(nullptr);
  EXPECT_EQ(carver.Take<uint32_t>(3), nullptr);
  EXPECT_EQ(carver.bytes(), 256u);
  EXPECT_EQ(carver.Take<uint64_t>(32), nullptr);
  EXPECT_EQ(carver.bytes(), 512u);
  EXPECT_EQ(carver.Take<uint64_t>(33), nullptr);
  EXPECT_EQ(carver.bytes(), 1024u);
  carver.Take<uint8_t>(0);
  EXPECT_EQ(carver.bytes(), 1024u);
}

TEST(Carver, CutsAlignedArraysThatDoNotOverlap) {
  alignas(Carver::kAlignment) char memory[1024];
  Carver carver(memory);
  auto* const a = reinterpret_cast<char*>(carver.Take<uint32_t>(3));
  auto* const b = reinterpret_cast<char*>(carver.Take<uint64_t>(33));
  auto* const c = reinterpret_cast<char*>(carver.Take<uint8_t>(1));
  EXPECT_EQ(a, memory);
  EXPECT_EQ(b, memory + 256);
  EXPECT_EQ(c, memory + 768);
  EXPECT_EQ(carver.bytes(), sizeof(memory));
}

}  // namespace
}  // namespace kvpage
