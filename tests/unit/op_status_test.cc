// SPDX-License-Identifier: Apache-2.0

#include "kvpage/core/op_status.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace kvpage {
namespace {

TEST(OpStatus, EachHasANameOfItsOwn) {
  std::set<std::string> names;
  for (uint8_t i = 0; i <= static_cast<uint8_t>(OpStatus::kRetryAfterFence); ++i) {
    names.insert(OpStatusName(static_cast<OpStatus>(i)));
  }
  EXPECT_EQ(names.size(), 11u);
  EXPECT_EQ(names.count("Unknown"), 0u);
  EXPECT_STREQ(OpStatusName(OpStatus::kDoubleFree), "DoubleFree");
  EXPECT_STREQ(OpStatusName(static_cast<OpStatus>(200)), "Unknown");
}

// Users keep statuses in arrays of bytes and in files.
TEST(OpStatus, TheNumbersAreFixed) {
  EXPECT_EQ(sizeof(OpStatus), 1u);
  EXPECT_EQ(static_cast<int>(OpStatus::kOk), 0);
  EXPECT_EQ(static_cast<int>(OpStatus::kFull), 1);
  EXPECT_EQ(static_cast<int>(OpStatus::kNeverFits), 2);
  EXPECT_EQ(static_cast<int>(OpStatus::kTableFull), 3);
  EXPECT_EQ(static_cast<int>(OpStatus::kInvalid), 4);
  EXPECT_EQ(static_cast<int>(OpStatus::kDoubleFree), 5);
  EXPECT_EQ(static_cast<int>(OpStatus::kStale), 6);
  EXPECT_EQ(static_cast<int>(OpStatus::kClosed), 7);
  EXPECT_EQ(static_cast<int>(OpStatus::kWrongState), 8);
  EXPECT_EQ(static_cast<int>(OpStatus::kCancelled), 9);
  EXPECT_EQ(static_cast<int>(OpStatus::kRetryAfterFence), 10);
}

}  // namespace
}  // namespace kvpage
