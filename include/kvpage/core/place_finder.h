// SPDX-License-Identifier: Apache-2.0
//
// kvpage/core/place_finder.h
//
// Finds the place of a batch that item `at` belongs to, in an exclusive scan of how many items each
// place has. Remembers the last answer, so that a run of items costs one search.
//
// Cost: log2(places) loads for another place, none for the same.

#ifndef KVPAGE_CORE_PLACE_FINDER_H_
#define KVPAGE_CORE_PLACE_FINDER_H_

#include <cstdint>

#include "kvpage/core/macros.h"

namespace kvpage {

template <class T>
class PlaceFinder {
 public:
  KVPAGE_HOST_DEVICE PlaceFinder(const T* offsets, uint32_t size)
      : offsets_(offsets), size_(size) {}

  KVPAGE_HOST_DEVICE uint32_t Find(T at) {
    if (at >= begin_ && at < end_) return place_;
    uint32_t low = 0;
    for (uint32_t high = size_; high - low > 1;) {
      const uint32_t middle = low + (high - low) / 2;
      (offsets_[middle] <= at ? low : high) = middle;
    }
    place_ = low;
    begin_ = offsets_[low];
    end_ = low + 1 < size_ ? offsets_[low + 1] : ~T{0};
    return place_;
  }
  // Number of the item within its place.
  KVPAGE_HOST_DEVICE uint32_t Within(T at) const { return static_cast<uint32_t>(at - begin_); }

 private:
  const T* offsets_;
  uint32_t size_;
  uint32_t place_ = 0;
  T begin_ = 1;
  T end_ = 0;
};

}  // namespace kvpage

#endif  // KVPAGE_CORE_PLACE_FINDER_H_
