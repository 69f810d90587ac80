// SPDX-License-Identifier: Apache-2.0
//
// tests/support/sched_backend.h
//
// The backend (tests/support/backend.h) whose operations are run by a thread block of two warps
// with three lanes each, under the seeded scheduler with its weak memory: a missing Sync or fence
// between lanes gives wrong results, and few lanes make every loop over a batch go round.

#ifndef KVPAGE_TESTS_SUPPORT_SCHED_BACKEND_H_
#define KVPAGE_TESTS_SUPPORT_SCHED_BACKEND_H_

#include <memory>

#include "absl/status/status.h"

#include "tests/support/backend.h"
#include "tests/support/group_kv_cache.h"
#include "tests/support/sched_atomics.h"
#include "tests/support/sched_warp.h"

namespace kvpage::test {

struct SchedRunner {
  using Atomics = SchedAtomics;

  template <class Body>
  absl::Status Run(Body body) {
    Scheduler scheduler({.seed = next_seed++, .max_steps = 4'000'000});
    SpawnBlock(scheduler, 2, 3, 0, [&](SchedBlock& block) { body(block); });
    if (scheduler.Run()) return absl::OkStatus();
    return absl::InternalError(scheduler.failure());
  }

  uint64_t next_seed = 1;  // one for each operation
};

struct SchedBackend {
  static constexpr const char* kName = "seeded scheduler";
  static constexpr uint32_t kModelRuns = 20;
  static constexpr uint32_t kModelSteps = 60;

  static BackendAccess Access() { return HostAccess(); }
  static absl::StatusOr<std::unique_ptr<KvCache>> Create(const KvCacheOptions& options,
                                                         uint64_t seed) {
    return GroupKvCache<SchedRunner>::Create(options, {seed});
  }
};

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_SUPPORT_SCHED_BACKEND_H_
