// SPDX-License-Identifier: Apache-2.0
//
// Which place of a batch an item belongs to.

#include "kvpage/core/place_finder.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "tests/support/random.h"

namespace kvpage {
namespace {

// Every item, in order, backwards and at random, with places of no items among them.
TEST(PlaceFinder, FindsThePlaceOfEveryItem) {
  test::Random random(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<uint64_t> offsets;
    std::vector<std::pair<uint32_t, uint32_t>> expected;  // place, number within it
    const uint32_t places = random.Between(1, 40);
    for (uint32_t i = 0; i < places; ++i) {
      offsets.push_back(expected.size());
      const uint32_t items = random.Percent(40) ? 0 : random.Between(1, 9);
      for (uint32_t k = 0; k < items; ++k) expected.emplace_back(i, k);
    }
    PlaceFinder<uint64_t> forward(offsets.data(), places);
    PlaceFinder<uint64_t> anyhow(offsets.data(), places);
    for (uint64_t at = 0; at < expected.size(); ++at) {
      ASSERT_EQ(forward.Find(at), expected[at].first);
      ASSERT_EQ(forward.Within(at), expected[at].second);
      const uint64_t other = random.Below(static_cast<uint32_t>(expected.size()));
      ASSERT_EQ(anyhow.Find(other), expected[other].first);
      ASSERT_EQ(anyhow.Within(other), expected[other].second);
    }
  }
}

}  // namespace
}  // namespace kvpage
