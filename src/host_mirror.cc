// SPDX-License-Identifier: Apache-2.0
//
// The host's side of the mirror: reading what operations write meanwhile.

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "kvpage/kv_cache.h"

namespace kvpage {
namespace {

template <class T>
T Load(const T* word, std::memory_order order = std::memory_order_relaxed) {
  return std::atomic_ref<T>(*const_cast<T*>(word)).load(order);
}

// False if the report is not there, not complete, or being written over.
bool ReadMisuse(const MirrorStorage& mirror, uint64_t number, Misuse& misuse) {
  const uint64_t* const entry = mirror.entry(number);
  if (Load(&entry[0], std::memory_order_acquire) != number + 1) return false;
  const uint64_t what = Load(&entry[2]);
  const uint64_t where = Load(&entry[3]);
  misuse = {.number = number,
            .operations = Load(&entry[1]),
            .by = static_cast<MisusedBy>(what >> 40),
            .status = static_cast<OpStatus>(what >> 32 & 0xff),
            .place = static_cast<int32_t>(where >> 32),
            .row = static_cast<int32_t>(where & 0xffffffff),
            .block = static_cast<BlockId>(what & 0xffffffff),
            .owner = Load(&entry[4])};
  std::atomic_thread_fence(std::memory_order_acquire);
  return Load(&entry[0]) == number + 1;
}

}  // namespace

MirrorCounters KvCache::Peek() const {
  const MirrorStorage& mirror = pool().mirror;
  MirrorCounters counters;
  if (!mirror.exists()) return counters;
  // A place is written to again only after the other one has become the latest. More tries than a
  // few mean that the host is far slower than the operations: any set will do.
  for (int attempt = 0; attempt < 64; ++attempt) {
    const uint64_t latest = Load(mirror.words, std::memory_order_acquire);
    if (latest == 0) return counters;
    const uint64_t* const words = mirror.counters(latest);
    counters = {.operations = Load(&words[0]),
                .free_blocks = Load(&words[1]),
                .pending_blocks = Load(&words[2]),
                .most_owned_blocks = Load(&words[3]),
                .failed_rows = Load(&words[4]),
                .misuses = Load(&words[5])};
    std::atomic_thread_fence(std::memory_order_acquire);
    if (Load(mirror.words) == latest) break;
  }
  return counters;
}

uint32_t KvCache::PeekLengthBound(int32_t row) const {
  return table().length_bounds == nullptr ? 0 : Load(&table().length_bounds[row]);
}

size_t KvCache::PeekMisuses(uint64_t first, absl::Span<Misuse> out) const {
  const MirrorStorage& mirror = pool().mirror;
  if (!mirror.exists()) return 0;
  // The latest report, wherever the counters are: the greatest number in the ring.
  uint64_t end = 0;
  for (uint64_t i = 0; i < MirrorStorage::kRingEntries; ++i) {
    end = std::max(end, Load(mirror.entry(i)));
  }
  const uint64_t oldest = end > MirrorStorage::kRingEntries ? end - MirrorStorage::kRingEntries : 0;
  size_t count = 0;
  for (uint64_t number = std::max(first, oldest); number < end && count < out.size(); ++number) {
    if (ReadMisuse(mirror, number, out[count])) ++count;
  }
  return count;
}

}  // namespace kvpage
