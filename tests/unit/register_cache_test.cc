// SPDX-License-Identifier: Apache-2.0

#include "kvpage/core/register_cache.h"

#include <gtest/gtest.h>

namespace kvpage::test {
namespace {

TEST(RegisterCache, ALoneThreadHasAllEntries) {
  const ThreadGroup thread;
  RegisterCache<float, ThreadGroup> weights(thread);
  weights.Fill([](uint32_t i) { return 0.5f * static_cast<float>(i); });
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(weights.Get(i), 0.5f * static_cast<float>(i));
  RegisterCache<uint64_t, ThreadGroup> wide(thread);
  wide.Fill([](uint32_t i) { return ~uint64_t{i}; });
  EXPECT_EQ(wide.Get(31), ~uint64_t{31});
}

}  // namespace
}  // namespace kvpage::test
