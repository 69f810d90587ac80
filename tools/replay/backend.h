// SPDX-License-Identifier: Apache-2.0
//
// tools/replay/backend.h
//
// A cache on the CPU or on a GPU, and memory for batches that it can access.

#ifndef KVPAGE_TOOLS_REPLAY_BACKEND_H_
#define KVPAGE_TOOLS_REPLAY_BACKEND_H_

#include <memory>

#include "absl/status/statusor.h"

#include "kvpage/kv_cache.h"
#include "kvpage/memory_resource.h"
#include "kvpage/stream_ref.h"

namespace kvpage::replay {

enum class BackendKind { kCpu, kCuda };

struct Backend {
  std::unique_ptr<MemoryResource> batch_memory;
  std::unique_ptr<KvCache> cache;
  StreamRef stream = StreamRef::Default();
};

// Unimplemented for kCuda in a build without CUDA; else what the library says.
absl::StatusOr<Backend> CreateBackend(BackendKind kind, const KvCacheOptions& options);

}  // namespace kvpage::replay

#endif  // KVPAGE_TOOLS_REPLAY_BACKEND_H_
