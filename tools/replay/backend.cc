// SPDX-License-Identifier: Apache-2.0
//
// The only file that depends on whether this build has CUDA (KVPAGE_REPLAY_CUDA).

#include "tools/replay/backend.h"

#include <utility>

#include "absl/status/status.h"

#if defined(KVPAGE_REPLAY_CUDA)
#include "kvpage/cuda/cuda_kv_cache.h"
#include "kvpage/cuda/cuda_memory_resource.h"
#endif

namespace kvpage::replay {
namespace {

absl::StatusOr<std::unique_ptr<KvCache>> CreateCache(BackendKind kind, StreamRef stream,
                                                     const KvCacheOptions& options) {
  if (kind == BackendKind::kCpu) return CreateCpuKvCache(options);
#if defined(KVPAGE_REPLAY_CUDA)
  return CreateCudaKvCache(stream, options);
#else
  static_cast<void>(stream);
  return absl::UnimplementedError("this kvpage-replay was built without CUDA");
#endif
}

std::unique_ptr<MemoryResource> CreateBatchMemory(BackendKind kind) {
#if defined(KVPAGE_REPLAY_CUDA)
  if (kind == BackendKind::kCuda) return std::make_unique<CudaPinnedMemoryResource>();
#endif
  static_cast<void>(kind);
  return std::make_unique<HostMemoryResource>();
}

}  // namespace

absl::StatusOr<Backend> CreateBackend(BackendKind kind, const KvCacheOptions& options) {
  Backend backend;
  absl::StatusOr<std::unique_ptr<KvCache>> cache = CreateCache(kind, backend.stream, options);
  if (!cache.ok()) return cache.status();
  backend.cache = *std::move(cache);
  backend.batch_memory = CreateBatchMemory(kind);
  return backend;
}

}  // namespace kvpage::replay
