// SPDX-License-Identifier: Apache-2.0
//
// cuda/softmax_elements.cuh
//
// Elements of the four types in memory, as the floats that kernels compute with. Kernels see rows
// through an input and an output: VectorIn and VectorOut move 16 bytes at a time, ScalarIn and
// ScalarOut single elements, for rows that are not aligned. ScalarOut is told its type at run time,
// so that such rows do not cost a kernel for each pair of types.
//
// An input has kWidth elements in a Raw, which stays packed until it is computed with, and says how
// many Raws a thread keeps of a row (kHeld) and has in flight of a stream (kBatch).
//
// The conversions are written out: the toolkit's headers of the small types take longer to compile
// than the kernels.

#ifndef KVPAGE_CUDA_SOFTMAX_ELEMENTS_CUH_
#define KVPAGE_CUDA_SOFTMAX_ELEMENTS_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "kvpage/core/softmax_types.h"

namespace kvpage {

// kOnce: the line may leave the caches at once. kAgain: it is wanted again soon.
enum class Reuse { kOnce, kAgain };

template <int kCount>
struct alignas(kCount * 4) Words {
  uint32_t word[kCount];
};

template <Reuse kReuse = Reuse::kOnce, int kCount>
__device__ void LoadWords(const char* from, Words<kCount>& words) {
  using Vector = Words<kCount>;
  if constexpr (kCount == 4) {
    const uint4* const p = reinterpret_cast<const uint4*>(from);
    const uint4 v = kReuse == Reuse::kOnce ? __ldcs(p) : *p;
    words = Vector{{v.x, v.y, v.z, v.w}};
  } else if constexpr (kCount == 2) {
    const uint2* const p = reinterpret_cast<const uint2*>(from);
    const uint2 v = kReuse == Reuse::kOnce ? __ldcs(p) : *p;
    words = Vector{{v.x, v.y}};
  }
}

// Streaming stores: nobody here reads them again.
template <int kCount>
__device__ void StoreWords(char* to, const uint32_t (&w)[kCount]) {
  if constexpr (kCount == 2) {
    __stcs(reinterpret_cast<uint2*>(to), make_uint2(w[0], w[1]));
  } else {
#pragma unroll
    for (int i = 0; i < kCount; i += 4) {
      __stcs(reinterpret_cast<uint4*>(to) + i / 4, make_uint4(w[i], w[i + 1], w[i + 2], w[i + 3]));
    }
  }
}

struct F32 {
  static constexpr int kPerWord = 1;
  static constexpr uint32_t kMinusInf = 0xff800000u;
  __device__ static void Unpack(uint32_t word, float* v) { v[0] = __uint_as_float(word); }
  __device__ static uint32_t Pack(const float* v) { return __float_as_uint(v[0]); }
  __device__ static uint32_t Max(uint32_t a, uint32_t b) {
    return __float_as_uint(fmaxf(__uint_as_float(a), __uint_as_float(b)));
  }
};

struct F16 {
  static constexpr int kPerWord = 2;
  static constexpr uint32_t kMinusInf = 0xfc00fc00u;
  __device__ static float One(uint16_t bits) {
    float v;
    asm("cvt.f32.f16 %0, %1;" : "=f"(v) : "h"(bits));
    return v;
  }
  __device__ static void Unpack(uint32_t word, float* v) {
    v[0] = One(static_cast<uint16_t>(word));
    v[1] = One(static_cast<uint16_t>(word >> 16));
  }
  __device__ static uint16_t PackOne(float v) {
    uint16_t bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(v));
    return bits;
  }
  __device__ static uint32_t Pack(const float* v) {
#if __CUDA_ARCH__ >= 800
    uint32_t word;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(v[1]), "f"(v[0]));
    return word;
#else
    return PackOne(v[0]) | uint32_t{PackOne(v[1])} << 16;
#endif
  }
  __device__ static uint32_t Max(uint32_t a, uint32_t b) {
#if __CUDA_ARCH__ >= 800
    uint32_t most;
    asm("max.f16x2 %0, %1, %2;" : "=r"(most) : "r"(a), "r"(b));
    return most;
#else
    float v[2], w[2];
    Unpack(a, v);
    Unpack(b, w);
    const float most[2] = {fmaxf(v[0], w[0]), fmaxf(v[1], w[1])};
    return Pack(most);
#endif
  }
};

struct Bf16 {
  static constexpr int kPerWord = 2;
  static constexpr uint32_t kMinusInf = 0xff80ff80u;
  __device__ static float One(uint16_t bits) { return __uint_as_float(uint32_t{bits} << 16); }
  __device__ static void Unpack(uint32_t word, float* v) {
    v[0] = __uint_as_float(word << 16);
    v[1] = __uint_as_float(word & 0xffff0000u);
  }
  __device__ static uint16_t PackOne(float v) {
    const uint32_t bits = __float_as_uint(v);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fff;  // NaN
    return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
  }
  __device__ static uint32_t Pack(const float* v) {
#if __CUDA_ARCH__ >= 800
    uint32_t word;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(v[1]), "f"(v[0]));
    return word;
#else
    return PackOne(v[0]) | uint32_t{PackOne(v[1])} << 16;
#endif
  }
  __device__ static uint32_t Max(uint32_t a, uint32_t b) {
#if __CUDA_ARCH__ >= 800
    uint32_t most;
    asm("max.bf16x2 %0, %1, %2;" : "=r"(most) : "r"(a), "r"(b));
    return most;
#else
    float v[2], w[2];
    Unpack(a, v);
    Unpack(b, w);
    const float most[2] = {fmaxf(v[0], w[0]), fmaxf(v[1], w[1])};
    return Pack(most);
#endif
  }
};

// Inputs only. There is no infinity, and no -inf to fill up with.
struct E4m3 {
  static constexpr int kPerWord = 4;
  // The exponent's bias is 7 and a float's 127; exact, denormals included.
  __device__ static float One(uint32_t bits) {
    const uint32_t magnitude = bits & 0x7f;
    const float v = __uint_as_float(magnitude << 20) * 0x1p120f;
    const float number = magnitude == 0x7f ? __uint_as_float(0x7fffffffu) : v;
    return (bits & 0x80) != 0 ? -number : number;
  }
  __device__ static void Unpack(uint32_t word, float* v) {
#if __CUDA_ARCH__ >= 890
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      uint32_t pair;
      asm("cvt.rn.f16x2.e4m3x2 %0, %1;"
          : "=r"(pair)
          : "h"(static_cast<uint16_t>(word >> 16 * half)));
      F16::Unpack(pair, v + 2 * half);
    }
#else
#pragma unroll
    for (int i = 0; i < 4; ++i) v[i] = One(word >> 8 * i & 0xff);
#endif
  }
};

template <class E>
struct VectorIn {
  using Raw = Words<4>;
  static constexpr int kWidth = 4 * E::kPerWord;
  static constexpr int kBatch = E::kPerWord == 4 ? 2 : 4;
  static constexpr int kHeld = 8;

  __device__ static Raw Empty() {
    return {{E::kMinusInf, E::kMinusInf, E::kMinusInf, E::kMinusInf}};
  }
  // Raw number i of the row.
  template <Reuse kReuse = Reuse::kOnce>
  __device__ Raw Load(const char* row, int64_t i) const {
    Raw raw;
    LoadWords<kReuse>(row + i * 16, raw);
    return raw;
  }
  __device__ static void Unpack(const Raw& raw, float (&v)[kWidth]) {
#pragma unroll
    for (int w = 0; w < 4; ++w) E::Unpack(raw.word[w], v + w * E::kPerWord);
  }
  // The largest element of a few Raws; NaNs do not count.
  template <int kRaws>
  __device__ static float Max(const Raw (&raws)[kRaws]) {
    float v[kWidth];
    float most;
    if constexpr (E::kPerWord == 4) {
      most = -INFINITY;
#pragma unroll
      for (int r = 0; r < kRaws; ++r) {
        Unpack(raws[r], v);
#pragma unroll
        for (int e = 0; e < kWidth; ++e) most = fmaxf(most, v[e]);
      }
    } else {
      uint32_t word = raws[0].word[0];
#pragma unroll
      for (int i = 1; i < 4 * kRaws; ++i) word = E::Max(word, raws[i / 4].word[i % 4]);
      E::Unpack(word, v);
      most = fmaxf(v[0], -INFINITY);  // -inf, not NaN, where all are NaN
      if constexpr (E::kPerWord == 2) most = fmaxf(most, v[1]);
    }
    return most;
  }
};

template <class E, int kWidth>
struct VectorOut {
  __device__ void Store(char* row, int64_t i, const float (&v)[kWidth]) const {
    constexpr int kWords = kWidth / E::kPerWord;
    uint32_t words[kWords];
#pragma unroll
    for (int w = 0; w < kWords; ++w) words[w] = E::Pack(v + w * E::kPerWord);
    StoreWords(row + i * kWords * 4, words);
  }
};

// One element of type E.
template <class E>
__device__ float LoadOne(const char* row, int64_t i) {
  if constexpr (E::kPerWord == 1) {
    return reinterpret_cast<const float*>(row)[i];
  } else if constexpr (E::kPerWord == 2) {
    return E::One(reinterpret_cast<const uint16_t*>(row)[i]);
  } else {
    return E::One(reinterpret_cast<const uint8_t*>(row)[i]);
  }
}

__device__ inline float LoadElement(const char* row, Dtype dtype, int64_t i) {
  switch (dtype) {
    case Dtype::kF32:
      return LoadOne<F32>(row, i);
    case Dtype::kF16:
      return LoadOne<F16>(row, i);
    case Dtype::kBf16:
      return LoadOne<Bf16>(row, i);
    default:
      return LoadOne<E4m3>(row, i);
  }
}

__device__ inline void StoreElement(char* row, Dtype dtype, int64_t i, float v) {
  if (dtype == Dtype::kF32) {
    reinterpret_cast<float*>(row)[i] = v;
  } else {
    reinterpret_cast<uint16_t*>(row)[i] = dtype == Dtype::kF16 ? F16::PackOne(v) : Bf16::PackOne(v);
  }
}

template <class E>
struct ScalarIn {
  using Raw = float;
  static constexpr int kWidth = 1;
  static constexpr int kBatch = 8;
  static constexpr int kHeld = 16;

  __device__ static Raw Empty() { return -INFINITY; }
  template <Reuse = Reuse::kOnce>
  __device__ Raw Load(const char* row, int64_t i) const {
    return LoadOne<E>(row, i);
  }
  __device__ static void Unpack(Raw raw, float (&v)[1]) { v[0] = raw; }
  template <int kRaws>
  __device__ static float Max(const Raw (&raws)[kRaws]) {
    float most = -INFINITY;
#pragma unroll
    for (int r = 0; r < kRaws; ++r) most = fmaxf(most, raws[r]);
    return most;
  }
};

struct ScalarOut {
  Dtype dtype;
  __device__ void Store(char* row, int64_t i, const float (&v)[1]) const {
    StoreElement(row, dtype, i, v[0]);
  }
};

}  // namespace kvpage

#endif  // KVPAGE_CUDA_SOFTMAX_ELEMENTS_CUH_
