// SPDX-License-Identifier: Apache-2.0
//
// kvpage/cuda/cuda_block_pool.h
//
// A CudaBlockPool owns a block pool in device memory, without a page table. Kernels allocate and
// release in it through CudaBlockPoolRef (kvpage/cuda/kvpage.cuh).
//
// Example:
//   auto pool = kvpage::CudaBlockPool::Create(kvpage::StreamRef(stream), {.num_blocks = 65536});
//   MyKernel<<<grid, threads, 0, stream>>>(pool->storage());
//
// Thread safety: kernels may use it at any time, on any stream, once the stream it was made on has
//   reached its initialisation. Memory ordering, cost, failure: see kvpage/core/block_pool_ref.h.

#ifndef KVPAGE_CUDA_CUDA_BLOCK_POOL_H_
#define KVPAGE_CUDA_CUDA_BLOCK_POOL_H_

#include <cstdint>

#include "absl/status/statusor.h"

#include "kvpage/core/block_pool_storage.h"
#include "kvpage/export.h"
#include "kvpage/memory_resource.h"
#include "kvpage/owned_state.h"
#include "kvpage/stream_ref.h"

namespace kvpage {

class KVPAGE_EXPORT CudaBlockPool {
 public:
  // A pool of free blocks, initialised on the stream. Its memory comes from the resource, of device
  // memory, which must outlive it, or from the current device. InvalidArgument, ResourceExhausted
  // or Unavailable as for CreateCudaKvCache.
  [[nodiscard]] static absl::StatusOr<CudaBlockPool> Create(StreamRef stream,
                                                            const BlockPoolOptions& options,
                                                            MemoryResource* resource = nullptr);

  uint32_t num_blocks() const { return storage().num_blocks(); }
  const BlockPoolStorage& storage() const { return state_.pool; }

 private:
  explicit CudaBlockPool(PoolState state);

  PoolState state_;
};

}  // namespace kvpage

#endif  // KVPAGE_CUDA_CUDA_BLOCK_POOL_H_
