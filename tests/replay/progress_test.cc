// SPDX-License-Identifier: Apache-2.0

#include "tools/replay/progress.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "tools/replay/machine.h"

namespace kvpage::replay {
namespace {

TEST(ProgressTest, DrawsABarInOneLineAndClearsIt) {
  std::ostringstream out;
  {
    Progress progress(&out, 200);
    progress.Update(100, 64);
  }
  const std::string text = out.str();
  EXPECT_EQ(text.find("\r[###############...............] 100 of 200 requests, step 64"), 0u);
  EXPECT_TRUE(text.ends_with("\r\x1b[K"));
  EXPECT_EQ(text.find('\n'), std::string::npos);
}

TEST(ProgressTest, IsSilentWithoutAnOutputOrUpdates) {
  std::ostringstream out;
  { Progress progress(&out, 200); }
  EXPECT_EQ(out.str(), "");
  Progress progress(nullptr, 200);
  progress.Update(100, 64);
}

TEST(ProgressTest, OnAndOffNeedNoTerminal) {
  EXPECT_TRUE(WantsProgress(ProgressMode::kOn));
  EXPECT_FALSE(WantsProgress(ProgressMode::kOff));
}

TEST(MachineTest, FindsTheModelOfTheCpu) {
  std::istringstream cpuinfo("processor\t: 0\nmodel\t\t: 17\nmodel name\t: Some CPU @ 2 GHz\n");
  EXPECT_EQ(CpuModel(cpuinfo), "Some CPU @ 2 GHz");
  std::istringstream other("Hardware\t: something\nmodel name\t:\n");
  EXPECT_EQ(CpuModel(other), "unknown");
}

}  // namespace
}  // namespace kvpage::replay
