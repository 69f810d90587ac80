// SPDX-License-Identifier: Apache-2.0
//
// kvpage/cuda/cuda_kv_cache.h
//
// Creates a KvCache (kvpage/kv_cache.h) whose state lies in device memory and whose operations run
// on a GPU.
//
// Example:
//   auto cache = kvpage::CreateCudaKvCache(
//       kvpage::StreamRef(stream), {.num_blocks = 65536, .max_sequences = 256,
//                                   .max_blocks_per_sequence = 512});
//   MyKernel<<<grid, threads, 0, stream>>>((*cache)->pool(), (*cache)->table());
//
// The cache belongs to the device that was current when it was made, and must be destroyed before
// the program ends, when nothing that uses it is still running.

#ifndef KVPAGE_CUDA_CUDA_KV_CACHE_H_
#define KVPAGE_CUDA_CUDA_KV_CACHE_H_

#include <memory>

#include "absl/status/statusor.h"

#include "kvpage/export.h"
#include "kvpage/kv_cache.h"

namespace kvpage {

// Enqueues the initialisation on the stream and does not wait for it. InvalidArgument for options
// that allow no cache, ResourceExhausted if there is no memory, Unavailable without a device.
// options.memory and options.memory_resource, if given, are of device memory.
KVPAGE_EXPORT absl::StatusOr<std::unique_ptr<KvCache>> CreateCudaKvCache(
    StreamRef stream, const KvCacheOptions& options);

}  // namespace kvpage

#endif  // KVPAGE_CUDA_CUDA_KV_CACHE_H_
