// SPDX-License-Identifier: Apache-2.0
//
// cuda/bulk_copy.cuh
//
// Copies from global into shared memory that the copy engine of sm_90 carries out by itself, and the
// barrier that tells when they have landed. Before sm_90 the calls compile and must not be reached.
//
// Example, in a thread block:
//   __shared__ uint64_t word;
//   BulkLanding landing(&word);             // every thread; a __syncthreads follows
//   if (threadIdx.x == 0) landing.Begin(buffer, from, bytes);
//   landing.Wait();                         // every thread
//   ... read buffer; __syncthreads(); the next Begin ...

#ifndef KVPAGE_CUDA_BULK_COPY_CUH_
#define KVPAGE_CUDA_BULK_COPY_CUH_

#include <cuda_runtime.h>

#include <cstdint>

namespace kvpage {

class BulkLanding {
 public:
  __device__ explicit BulkLanding(uint64_t* word)
      : word_(static_cast<uint32_t>(__cvta_generic_to_shared(word))) {
#if __CUDA_ARCH__ >= 900
    if (threadIdx.x == 0) {
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(word_) : "memory");
      asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
#endif
  }

  // One thread. Everything is aligned to 16 bytes; one landing is under way at a time.
  __device__ void Begin(char* to, const char* from, uint32_t bytes) const {
#if __CUDA_ARCH__ >= 900
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(word_), "r"(bytes)
                 : "memory");
    constexpr uint32_t kPiece = 16384;  // several pieces are under way at a time
    for (uint32_t at = 0; at < bytes; at += kPiece) {
      const uint32_t size = bytes - at < kPiece ? bytes - at : kPiece;
      asm volatile(
          "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, "
          "[%3];" ::"r"(static_cast<uint32_t>(__cvta_generic_to_shared(to + at))),
          "l"(__cvta_generic_to_global(from + at)), "r"(size), "r"(word_)
          : "memory");
    }
#endif
  }

  // Until what Begin asked for has landed.
  __device__ void Wait() {
#if __CUDA_ARCH__ >= 900
    uint32_t done = 0;
    while (done == 0) {
      asm volatile(
          "{ .reg .pred p;\n"
          "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
          "selp.u32 %0, 1, 0, p; }"
          : "=r"(done)
          : "r"(word_), "r"(parity_)
          : "memory");
    }
    parity_ ^= 1;
#endif
  }

 private:
  uint32_t word_;
  uint32_t parity_ = 0;
};

}  // namespace kvpage

#endif  // KVPAGE_CUDA_BULK_COPY_CUH_
