// SPDX-License-Identifier: Apache-2.0
//
// The loop over the steps.

#include "tools/replay/replay.h"

#include <chrono>

#include "tools/replay/audit_check.h"
#include "tools/replay/batch_buffers.h"
#include "tools/replay/status_macros.h"

namespace kvpage::replay {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

absl::Status Audit(Backend& backend, const Scheduler& scheduler, AuditLog& log) {
  absl::StatusOr<AuditReport> audit = backend.cache->AuditNow(backend.stream);
  if (!audit.ok()) return audit.status();
  ++log.count;
  log.last = *audit;
  log.problem = AuditProblem(*audit, scheduler.usage().blocks_held(), scheduler.num_running());
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ReplayResult> Replay(Backend& backend, const Workload& workload,
                                    const ReplayOptions& options, Progress& progress) {
  absl::StatusOr<BatchBuffers> buffers = BatchBuffers::Create(
      *backend.batch_memory, backend.cache->table().max_sequences, options.serving.step_tokens);
  if (!buffers.ok()) return buffers.status();
  CacheClient client(*backend.cache, backend.stream, *buffers);
  Scheduler scheduler(workload.requests, options.serving, client);
  const ServingCounts& counts = scheduler.counts();
  AuditLog audits;

  const Clock::time_point start = Clock::now();
  double audit_seconds = 0;
  while (!scheduler.done() && audits.clean()) {
    KVPAGE_REPLAY_RETURN_IF_ERROR(scheduler.Step());
    progress.Update(counts.served + counts.rejected(), counts.steps);
    if (options.audit_every == 0 || counts.steps % options.audit_every != 0) continue;
    const Clock::time_point audit_start = Clock::now();
    KVPAGE_REPLAY_RETURN_IF_ERROR(Audit(backend, scheduler, audits));
    audit_seconds += SecondsSince(audit_start);
  }
  const double wall_seconds = SecondsSince(start) - audit_seconds;
  if (audits.clean()) KVPAGE_REPLAY_RETURN_IF_ERROR(Audit(backend, scheduler, audits));

  absl::StatusOr<uint64_t> hash = backend.cache->StateHashNow(backend.stream);
  if (!hash.ok()) return hash.status();
  return ReplayResult{.counts = counts,
                      .usage = scheduler.usage(),
                      .reserves = client.reserves(),
                      .appends = client.appends(),
                      .closes = client.closes(),
                      .drafts = client.drafts(),
                      .commits = client.commits(),
                      .wall_seconds = wall_seconds,
                      .audits = audits,
                      .state_hash = *hash};
}

}  // namespace kvpage::replay
