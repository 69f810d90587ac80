// SPDX-License-Identifier: Apache-2.0
//
// cuda/bulk_copy.cuh
//
// Copies from global into shared memory that the copy engine of sm_90 carries out by itself, and the
// barrier that tells when they have landed. Before sm_90 the calls compile and must not be reached.
//
// Example, in a thread block:
//   __shared__ uint64_t words[2];
//   BulkLandings<2> landings(words);        // every thread; a __syncthreads follows
//   if (threadIdx.x == 0) landings.Begin(0, buffer, from, bytes);
//   landings.Wait(0);                       // every thread
//   ... read buffer; __syncthreads(); the next Begin(0, ...) ...

#ifndef KVPAGE_CUDA_BULK_COPY_CUH_
#define KVPAGE_CUDA_BULK_COPY_CUH_

#include <cuda_runtime.h>

#include <cstdint>

namespace kvpage {

// kCount landings at a time, each with its word in shared memory.
template <uint32_t kCount>
class BulkLandings {
 public:
  __device__ explicit BulkLandings(uint64_t (&words)[kCount])
      : words_(static_cast<uint32_t>(__cvta_generic_to_shared(words))) {
#if __CUDA_ARCH__ >= 900
    if (threadIdx.x == 0) {
      for (uint32_t i = 0; i < kCount; ++i) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(Word(i)) : "memory");
      }
      asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
#endif
  }

  // One thread, and not before the landing before it has been waited for. Everything is aligned to
  // 16 bytes.
  __device__ void Begin(uint32_t i, char* to, const char* from, uint32_t bytes) const {
#if __CUDA_ARCH__ >= 900
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(Word(i)),
                 "r"(bytes)
                 : "memory");
    constexpr uint32_t kPiece = 16384;  // several pieces are under way at a time
    for (uint32_t at = 0; at < bytes; at += kPiece) {
      const uint32_t size = bytes - at < kPiece ? bytes - at : kPiece;
      asm volatile(
          "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, "
          "[%3];" ::"r"(static_cast<uint32_t>(__cvta_generic_to_shared(to + at))),
          "l"(__cvta_generic_to_global(from + at)), "r"(size), "r"(Word(i))
          : "memory");
    }
#endif
  }

  // Until what Begin asked for has landed.
  __device__ void Wait(uint32_t i) {
#if __CUDA_ARCH__ >= 900
    uint32_t done = 0;
    while (done == 0) {
      asm volatile(
          "{ .reg .pred p;\n"
          "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
          "selp.u32 %0, 1, 0, p; }"
          : "=r"(done)
          : "r"(Word(i)), "r"(parities_ >> i & 1)
          : "memory");
    }
    parities_ ^= 1u << i;
#endif
  }

 private:
  __device__ uint32_t Word(uint32_t i) const { return words_ + 8 * i; }

  uint32_t words_;
  uint32_t parities_ = 0;  // a bit for each
};

}  // namespace kvpage

#endif  // KVPAGE_CUDA_BULK_COPY_CUH_
