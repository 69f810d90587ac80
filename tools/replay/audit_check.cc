// SPDX-License-Identifier: Apache-2.0
//
// Names every number of an audit that is not as it must be.

#include "tools/replay/audit_check.h"

namespace kvpage::replay {

std::string AuditProblem(const AuditReport& audit, uint64_t blocks_held, uint64_t open_rows) {
  std::string problem;
  const auto expect = [&](const char* what, uint64_t found, uint64_t wanted) {
    if (found == wanted) return;
    if (!problem.empty()) problem += ", ";
    problem += std::string(what) + " " + std::to_string(found);
    if (wanted != 0) problem += " instead of " + std::to_string(wanted);
  };
  expect("gate_errors", audit.gate_errors, 0);
  expect("block_errors", audit.block_errors, 0);
  expect("summary_errors", audit.summary_errors, 0);
  expect("row_errors", audit.row_errors, 0);
  expect("reference_errors", audit.reference_errors, 0);
  expect("outside_blocks", audit.outside_blocks, 0);
  expect("open_rows", audit.open_rows, open_rows);
  expect("owned_blocks", audit.owned_blocks, blocks_held);
  expect("references", audit.references, blocks_held);
  expect("free_blocks", audit.free_blocks, audit.num_blocks - blocks_held);
  return problem;
}

}  // namespace kvpage::replay
