// SPDX-License-Identifier: Apache-2.0
//
// tools/replay/audit_check.h
//
// Compares what an audit found in the cache with what the server believes to hold.

#ifndef KVPAGE_TOOLS_REPLAY_AUDIT_CHECK_H_
#define KVPAGE_TOOLS_REPLAY_AUDIT_CHECK_H_

#include <cstdint>
#include <string>

#include "kvpage/core/audit_report.h"

namespace kvpage::replay {

// What is wrong, in one line; empty if nothing is. A server that shares nothing holds each block
// through one entry of one row.
std::string AuditProblem(const AuditReport& audit, uint64_t blocks_held, uint64_t open_rows);

}  // namespace kvpage::replay

#endif  // KVPAGE_TOOLS_REPLAY_AUDIT_CHECK_H_
