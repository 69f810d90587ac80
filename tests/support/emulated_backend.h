// SPDX-License-Identifier: Apache-2.0
//
// tests/support/emulated_backend.h
//
// The backend (tests/support/backend.h) whose operations are run by an emulated warp: 32
// CPU threads with real parallelism and real atomics.

#ifndef KVPAGE_TESTS_SUPPORT_EMULATED_BACKEND_H_
#define KVPAGE_TESTS_SUPPORT_EMULATED_BACKEND_H_

#include <memory>

#include "kvpage/core/cpu_atomics.h"
#include "tests/support/backend.h"
#include "tests/support/emulated_warp.h"
#include "tests/support/group_kv_cache.h"

namespace kvpage::test {

struct EmulatedRunner {
  using Atomics = CpuAtomics;

  template <class Body>
  absl::Status Run(Body body) {
    RunWarps(1, body);
    return absl::OkStatus();
  }
};

struct EmulatedWarpBackend {
  static constexpr const char* kName = "emulated warp";
  static constexpr uint32_t kModelRuns = 4;
  static constexpr uint32_t kModelSteps = 40;

  static BackendAccess Access() { return HostAccess(); }
  static absl::StatusOr<std::unique_ptr<KvCache>> Create(const KvCacheOptions& options, uint64_t) {
    return GroupKvCache<EmulatedRunner>::Create(options);
  }
};

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_SUPPORT_EMULATED_BACKEND_H_
