// SPDX-License-Identifier: Apache-2.0
//
// tests/support/backend.h
//
// What a backend is to the conformance suites and the model tests, which are written once and run
// on every backend: a type with
//   kName                    for messages
//   kModelRuns, kModelSteps  how many runs of how many random operations the model test makes
//   Access()                 how a test reaches what belongs to it
//   Create(options, seed) -> StatusOr<unique_ptr<KvCache>>   the seed is for what is random in it
// This file has the CPU's, which is also the shape for the others.

#ifndef KVPAGE_TESTS_SUPPORT_BACKEND_H_
#define KVPAGE_TESTS_SUPPORT_BACKEND_H_

#include <cstring>
#include <memory>
#include <stdexcept>
#include <utility>

#include "kvpage/kv_cache.h"
#include "tests/support/cache_driver.h"
#include "tests/support/test_seed.h"

namespace kvpage::test {

inline void CopyInHostMemory(void* to, const void* from, size_t bytes) {
  std::memcpy(to, from, bytes);
}

inline BackendAccess HostAccess() {
  static HostMemoryResource memory;
  return {StreamRef::Default(), &memory, &memory, CopyInHostMemory, CopyInHostMemory};
}

struct CpuBackend {
  static constexpr const char* kName = "cpu";
  static constexpr uint32_t kModelRuns = 60;
  static constexpr uint32_t kModelSteps = 500;

  static BackendAccess Access() { return HostAccess(); }
  static absl::StatusOr<std::unique_ptr<KvCache>> Create(const KvCacheOptions& options, uint64_t) {
    return CreateCpuKvCache(options);
  }
};

// A cache of the backend with a driver. A cache that cannot be made ends the test.
template <class Backend>
CacheDriver Drive(const KvCacheOptions& options, uint64_t seed = BaseSeed()) {
  absl::StatusOr<std::unique_ptr<KvCache>> cache = Backend::Create(options, seed);
  if (!cache.ok()) throw std::runtime_error(cache.status().ToString());
  return CacheDriver(*std::move(cache), Backend::Access());
}

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_SUPPORT_BACKEND_H_
