// SPDX-License-Identifier: Apache-2.0
//
// tools/replay/replay.h
//
// Serves a workload to its end, audits, and gathers what there is to report.

#ifndef KVPAGE_TOOLS_REPLAY_REPLAY_H_
#define KVPAGE_TOOLS_REPLAY_REPLAY_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

#include "kvpage/core/audit_report.h"
#include "tools/replay/backend.h"
#include "tools/replay/cache_client.h"
#include "tools/replay/progress.h"
#include "tools/replay/request.h"
#include "tools/replay/scheduler.h"
#include "tools/replay/usage.h"

namespace kvpage::replay {

struct AuditLog {
  uint64_t count = 0;
  AuditReport last;
  std::string problem;  // of the last one, in one line; empty if it is clean

  bool clean() const { return problem.empty(); }
};

struct ReplayResult {
  ServingCounts counts;
  Usage usage;
  OperationStats reserves;
  OperationStats appends;
  OperationStats closes;
  OperationStats drafts = {};   // BeginDraft
  OperationStats commits = {};  // CommitDraft
  double wall_seconds = 0;      // of the serving, without the audits
  AuditLog audits;
  uint64_t state_hash = 0;

  OperationStats operations() const {
    OperationStats sum = reserves;
    sum += appends;
    sum += closes;
    sum += drafts;
    sum += commits;
    return sum;
  }
};

struct ReplayOptions {
  ServingOptions serving;
  uint64_t audit_every = 0;  // steps; 0: only at the end
};

// Stops at the first audit that is not clean. An error means that the cache failed or gave an
// answer that cannot be.
absl::StatusOr<ReplayResult> Replay(Backend& backend, const Workload& workload,
                                    const ReplayOptions& options, Progress& progress);

}  // namespace kvpage::replay

#endif  // KVPAGE_TOOLS_REPLAY_REPLAY_H_
