// SPDX-License-Identifier: Apache-2.0
//
// The small parts of the batch operations; the operations themselves are in tests/conformance.

#include "kvpage/core/row_batch.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace kvpage {
namespace {

TEST(CountOrLimit, IsTheCountWithinTheLimit) {
  int32_t count = 3;
  EXPECT_EQ(CountOrLimit(&count, 5), 3u);
  EXPECT_EQ(CountOrLimit(nullptr, 5), 5u);
  count = 6;
  EXPECT_EQ(CountOrLimit(&count, 5), 5u);
  count = -1;
  EXPECT_EQ(CountOrLimit(&count, 5), 0u);
  count = static_cast<int32_t>(0x80000000);
  EXPECT_EQ(CountOrLimit(&count, 5), 0u);
}

}  // namespace
}  // namespace kvpage
