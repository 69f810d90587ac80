// SPDX-License-Identifier: Apache-2.0
//
// kvpage/cuda/kvpage.cuh
//
// Everything that a kernel needs to use a pool and a page table: include this in your .cu file.
//
// Example:
//   __global__ void Step(const __grid_constant__ kvpage::BlockPoolStorage storage) {
//     const kvpage::CudaBlockPoolRef pool(storage);
//     kvpage::WarpGroup warp;
//     const kvpage::BlockId mine = pool.TryAllocateOne(warp);
//     ...
//     pool.Release(warp, mine);
//   }
//
// The storage comes from a CudaBlockPool or a CUDA KvCache (kvpage/cuda/cuda_kv_cache.h), on the
// host.

#ifndef KVPAGE_CUDA_KVPAGE_CUH_
#define KVPAGE_CUDA_KVPAGE_CUH_

#include "kvpage/core/block_pool_ref.h"
#include "kvpage/core/page_table_ref.h"
#include "kvpage/cuda/cuda_atomics.cuh"
#include "kvpage/cuda/thread_block_group.cuh"
#include "kvpage/cuda/warp_groups.cuh"

namespace kvpage {

using CudaBlockPoolRef = BlockPoolRef<CudaAtomics>;
using CudaPageTableRef = PageTableRef<CudaAtomics>;

}  // namespace kvpage

#endif  // KVPAGE_CUDA_KVPAGE_CUH_
