// SPDX-License-Identifier: Apache-2.0
//
// One kernel for each verb of CudaAtomics and word size, and kernels that use a pool: compiled to
// PTX and read by check_ptx.py. The name of a kernel is the verb and the size.

#include <cstdint>

#include "kvpage/cuda/kvpage.cuh"

namespace {

using A = kvpage::CudaAtomics;

}  // namespace

#define LOAD(VERB, BITS)                                                                   \
  extern "C" __global__ void VERB##BITS(const uint##BITS##_t* word, uint##BITS##_t* out) { \
    *out = A::VERB(word);                                                                  \
  }
#define STORE(VERB, BITS)                                                             \
  extern "C" __global__ void VERB##BITS(uint##BITS##_t* word, uint##BITS##_t value) { \
    A::VERB(word, value);                                                             \
  }
#define UPDATE(VERB, BITS)                                                          \
  extern "C" __global__ void VERB##BITS(uint##BITS##_t* word, uint##BITS##_t value, \
                                        uint##BITS##_t* out) {                      \
    *out = A::VERB(word, value);                                                    \
  }
#define CAS(VERB, BITS)                                                                \
  extern "C" __global__ void VERB##BITS(uint##BITS##_t* word, uint##BITS##_t expected, \
                                        uint##BITS##_t value, uint##BITS##_t* out) {   \
    if (!A::VERB(word, expected, value)) *out = expected;                              \
  }
#define VERB(SHAPE, NAME) SHAPE(NAME, 32) SHAPE(NAME, 64)

VERB(LOAD, LoadRelaxed)
VERB(LOAD, LoadAcquire)
VERB(STORE, StoreRelaxed)
VERB(STORE, StoreRelease)
VERB(STORE, StoreReleaseSystem)
VERB(STORE, AddRelaxed)
VERB(STORE, OrRelease)
VERB(UPDATE, FetchAddRelaxed)
VERB(UPDATE, FetchAndRelaxed)
VERB(UPDATE, FetchAndAcquire)
VERB(UPDATE, FetchOrRelaxed)
VERB(UPDATE, FetchMinRelaxed)
VERB(UPDATE, ExchangeRelaxed)
VERB(CAS, CompareExchangeRelaxed)

extern "C" __global__ void FenceAcqRel() { A::FenceAcqRel(); }

// A pool as a user's kernel has it: every word that it touches atomically is in global memory.
extern "C" __global__ void UsePool(const __grid_constant__ kvpage::BlockPoolStorage storage,
                                   kvpage::OpStatus* status) {
  const kvpage::CudaBlockPoolRef pool(storage);
  kvpage::WarpGroup warp;
  const kvpage::BlockId mine = pool.TryAllocateOne(warp);
  *status = pool.Share(warp, mine);
  pool.Release(warp, mine);
}
