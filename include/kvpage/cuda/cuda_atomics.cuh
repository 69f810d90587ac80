// SPDX-License-Identifier: Apache-2.0
//
// kvpage/cuda/cuda_atomics.cuh
//
// The Atomics policy for CUDA: each verb is one PTX instruction, at device scope, on global memory.
// The verbs without a result are `red`, which sends nothing back.
//
// Use it as a template argument in .cu files: BlockPoolRef<CudaAtomics>. The words must be in
// device memory: the state space is written into the instruction, because a generic address is
// never turned into `red`.

#ifndef KVPAGE_CUDA_CUDA_ATOMICS_CUH_
#define KVPAGE_CUDA_CUDA_ATOMICS_CUH_

#include <cstdint>

#include "kvpage/core/atomics.h"
#include "kvpage/core/macros.h"

namespace kvpage {

// One verb for words of BITS bits (constraint letter REG), of each of the three shapes.
#define KVPAGE_PTX_LOAD(VERB, OP, BITS, REG)                          \
  static __device__ uint##BITS##_t VERB(const uint##BITS##_t* word) { \
    uint##BITS##_t value;                                             \
    asm volatile(OP ".u" #BITS " %0, [%1];"                           \
                 : "=" REG(value)                                     \
                 : "l"(__cvta_generic_to_global(word))                \
                 : "memory");                                         \
    return value;                                                     \
  }
#define KVPAGE_PTX_STORE(VERB, OP, BITS, REG)                                            \
  static __device__ void VERB(uint##BITS##_t* word, uint##BITS##_t value) {              \
    asm volatile(OP #BITS " [%0], %1;" ::"l"(__cvta_generic_to_global(word)), REG(value) \
                 : "memory");                                                            \
  }
#define KVPAGE_PTX_UPDATE(VERB, OP, BITS, REG)                                        \
  static __device__ uint##BITS##_t VERB(uint##BITS##_t* word, uint##BITS##_t value) { \
    uint##BITS##_t old;                                                               \
    asm volatile(OP #BITS " %0, [%1], %2;"                                            \
                 : "=" REG(old)                                                       \
                 : "l"(__cvta_generic_to_global(word)), REG(value)                    \
                 : "memory");                                                         \
    return old;                                                                       \
  }
#define KVPAGE_PTX_CAS(VERB, OP, BITS, REG)                                       \
  static __device__ bool VERB(uint##BITS##_t* word, uint##BITS##_t& expected,     \
                              uint##BITS##_t value) {                             \
    uint##BITS##_t old;                                                           \
    asm volatile(OP #BITS " %0, [%1], %2, %3;"                                    \
                 : "=" REG(old)                                                   \
                 : "l"(__cvta_generic_to_global(word)), REG(expected), REG(value) \
                 : "memory");                                                     \
    const bool swapped = old == expected;                                         \
    expected = old;                                                               \
    return swapped;                                                               \
  }
#define KVPAGE_PTX_VERB(SHAPE, VERB, OP) \
  KVPAGE_PTX_##SHAPE(VERB, OP, 32, "r") KVPAGE_PTX_##SHAPE(VERB, OP, 64, "l")

struct CudaAtomics {
  KVPAGE_PTX_VERB(LOAD, LoadRelaxed, "ld.relaxed.gpu.global")
  KVPAGE_PTX_VERB(LOAD, LoadAcquire, "ld.acquire.gpu.global")
  KVPAGE_PTX_VERB(STORE, StoreRelaxed, "st.relaxed.gpu.global.u")
  KVPAGE_PTX_VERB(STORE, StoreRelease, "st.release.gpu.global.u")
  KVPAGE_PTX_VERB(STORE, StoreReleaseSystem, "st.release.sys.global.u")
  KVPAGE_PTX_VERB(STORE, AddRelaxed, "red.relaxed.gpu.global.add.u")
  KVPAGE_PTX_VERB(STORE, OrRelease, "red.release.gpu.global.or.b")
  KVPAGE_PTX_VERB(UPDATE, FetchAddRelaxed, "atom.relaxed.gpu.global.add.u")
  KVPAGE_PTX_VERB(UPDATE, FetchAndRelaxed, "atom.relaxed.gpu.global.and.b")
  KVPAGE_PTX_VERB(UPDATE, FetchAndAcquire, "atom.acquire.gpu.global.and.b")
  KVPAGE_PTX_VERB(UPDATE, FetchOrRelaxed, "atom.relaxed.gpu.global.or.b")
  KVPAGE_PTX_VERB(UPDATE, FetchMinRelaxed, "atom.relaxed.gpu.global.min.u")
  KVPAGE_PTX_VERB(UPDATE, ExchangeRelaxed, "atom.relaxed.gpu.global.exch.b")
  KVPAGE_PTX_VERB(CAS, CompareExchangeRelaxed, "atom.relaxed.gpu.global.cas.b")

  static __device__ void StoreRelaxed(uint8_t* byte, uint8_t value) {
    asm volatile("st.relaxed.gpu.global.u8 [%0], %1;" ::"l"(__cvta_generic_to_global(byte)),
                 "r"(uint32_t{value})
                 : "memory");
  }
  static __device__ void FenceAcqRel() { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }

  static __device__ void Pause(uint32_t attempt) {
    __nanosleep(attempt < 3 ? 64u << attempt : 512u);
  }
};

#undef KVPAGE_PTX_VERB
#undef KVPAGE_PTX_CAS
#undef KVPAGE_PTX_UPDATE
#undef KVPAGE_PTX_STORE
#undef KVPAGE_PTX_LOAD

static_assert(Atomics<CudaAtomics>);

}  // namespace kvpage

#endif  // KVPAGE_CUDA_CUDA_ATOMICS_CUH_
