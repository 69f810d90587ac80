// SPDX-License-Identifier: Apache-2.0

#include "kvpage/cuda/cuda_block_pool.h"

#include <utility>

#include "absl/status/status.h"

#include "cuda/cuda_status.h"
#include "cuda/default_memory.h"
#include "cuda/launch.h"

namespace kvpage {

absl::StatusOr<CudaBlockPool> CudaBlockPool::Create(StreamRef stream,
                                                    const BlockPoolOptions& options,
                                                    MemoryResource* resource) {
  absl::StatusOr<PoolState> state =
      PoolState::Create(options, resource != nullptr ? *resource : DefaultDeviceMemory());
  if (!state.ok()) return state.status();
  absl::Status status = CudaStatus(LaunchInitPool(stream.get(), state->pool), "init pool");
  if (!status.ok()) return status;
  return CudaBlockPool(*std::move(state));
}

CudaBlockPool::CudaBlockPool(PoolState state) : state_(std::move(state)) {}

}  // namespace kvpage
