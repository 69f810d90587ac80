// SPDX-License-Identifier: Apache-2.0
//
// tests/consumers/find_package_cuda/kernel.h
//
// What main.cc asks of the GPU: plain types, so that g++ and nvcc both read it.

#ifndef KVPAGE_TESTS_CONSUMERS_FIND_PACKAGE_CUDA_KERNEL_H_
#define KVPAGE_TESTS_CONSUMERS_FIND_PACKAGE_CUDA_KERNEL_H_

#include "kvpage/core/block_pool_storage.h"

// One warp takes a block for each of its 32 lanes. True if they got 32 different ones of `pool`.
bool WarpAllocates(const kvpage::BlockPoolStorage& pool);

#endif  // KVPAGE_TESTS_CONSUMERS_FIND_PACKAGE_CUDA_KERNEL_H_
