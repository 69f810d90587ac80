// SPDX-License-Identifier: Apache-2.0
//
// kvpage/core/carver.h
//
// Carver cuts arrays out of one piece of memory. With no memory it only counts, so that the code
// that lays a structure out is also the code that says how much it needs.
//
// Example:
//   Carver counting(nullptr);  BlockPoolStorage::Carve(counting, options);  n = counting.bytes();
//   Carver carver(memory);     auto storage = BlockPoolStorage::Carve(carver, options);
//
// Not thread-safe. Never allocates, never touches the memory.

#ifndef KVPAGE_CORE_CARVER_H_
#define KVPAGE_CORE_CARVER_H_

#include <cstddef>
#include <cstdint>

#include "kvpage/core/bits.h"

namespace kvpage {

class Carver {
 public:
  static constexpr size_t kAlignment = 256;  // of the memory, and of every array

  explicit Carver(void* memory) : memory_(static_cast<std::byte*>(memory)) {}

  template <class T>
  T* Take(uint64_t count) {
    const size_t at = bytes_;
    bytes_ = RoundUp(bytes_ + count * sizeof(T), kAlignment);
    return memory_ == nullptr ? nullptr : reinterpret_cast<T*>(memory_ + at);
  }

  // Bytes taken so far.
  size_t bytes() const { return bytes_; }

 private:
  std::byte* memory_;
  size_t bytes_ = 0;
};

}  // namespace kvpage

#endif  // KVPAGE_CORE_CARVER_H_
