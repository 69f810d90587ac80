// SPDX-License-Identifier: Apache-2.0

#include "tools/replay/audit_check.h"

#include <gtest/gtest.h>

#include <string>

namespace kvpage::replay {
namespace {

AuditReport Clean() {
  AuditReport audit;
  audit.num_blocks = 10;
  audit.free_blocks = 7;
  audit.owned_blocks = 3;
  audit.references = 3;
  audit.table_references = 3;
  audit.open_rows = 2;
  return audit;
}

TEST(AuditCheckTest, AcceptsWhatIsAsTheServerBelieves) {
  EXPECT_EQ(AuditProblem(Clean(), 3, 2), "");
  AuditReport empty;
  empty.num_blocks = empty.free_blocks = 10;
  EXPECT_EQ(AuditProblem(empty, 0, 0), "");
}

TEST(AuditCheckTest, NamesWhatIsWrong) {
  EXPECT_EQ(AuditProblem(Clean(), 3, 1), "open_rows 2 instead of 1");
  AuditReport audit = Clean();
  audit.gate_errors = 4;
  audit.outside_blocks = 1;
  EXPECT_EQ(AuditProblem(audit, 3, 2), "gate_errors 4, outside_blocks 1");
}

TEST(AuditCheckTest, EveryNumberCounts) {
  for (uint64_t AuditReport::*number :
       {&AuditReport::free_blocks, &AuditReport::owned_blocks, &AuditReport::references,
        &AuditReport::open_rows, &AuditReport::outside_blocks, &AuditReport::gate_errors,
        &AuditReport::block_errors, &AuditReport::summary_errors, &AuditReport::row_errors,
        &AuditReport::reference_errors}) {
    AuditReport audit = Clean();
    audit.*number += 1;
    EXPECT_NE(AuditProblem(audit, 3, 2), "");
  }
}

}  // namespace
}  // namespace kvpage::replay
