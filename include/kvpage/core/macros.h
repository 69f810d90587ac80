// SPDX-License-Identifier: Apache-2.0
//
// kvpage/core/macros.h
//
// What lets the same source be compiled for CPU threads and for CUDA kernels, and keeps a slow way
// out of the registers of the short one that calls it.

#ifndef KVPAGE_CORE_MACROS_H_
#define KVPAGE_CORE_MACROS_H_

#if __cplusplus < 202002L
#error \
    "kvpage needs C++20: pass -std=c++20 (nvcc: enable_language(CUDA) before find_package(kvpage))"
#endif

#if defined(__CUDACC__)
#define KVPAGE_HOST_DEVICE __host__ __device__
#define KVPAGE_NOINLINE __noinline__
#else
#define KVPAGE_HOST_DEVICE
#define KVPAGE_NOINLINE [[gnu::noinline]]
#endif

#endif  // KVPAGE_CORE_MACROS_H_
