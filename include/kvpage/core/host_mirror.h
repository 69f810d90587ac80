// SPDX-License-Identifier: Apache-2.0
//
// kvpage/core/host_mirror.h
//
// What the host can read of a cache without asking the device: counters after each batch operation,
// an upper bound of each row's length, and a ring of reports on misuse. It lies in host memory that
// the operations write to (pinned memory, for a GPU); KvCache::Peek and its kin read it.
//
// The counters have two places. An operation writes to the one that is not the latest and then says
// that it is; so the host reads a set of counters that belong together, of the latest operation
// that has ended. (Operations that run beside one another, such as commits that race, count as they
// find it.) A report on misuse is complete when its number is there.
//
// Thread safety: operations and host may run at any time. Memory ordering: what belongs together is
//   published by one store that releases to the whole system.
// Cost: per batch operation a scan of the gate's counters and of its statuses, about 1 us on a GPU;
//   per row one store. Nothing, if there is no mirror.

#ifndef KVPAGE_CORE_HOST_MIRROR_H_
#define KVPAGE_CORE_HOST_MIRROR_H_

#include <cstdint>

#include "kvpage/core/atomics.h"
#include "kvpage/core/op_status.h"
#include "kvpage/core/types.h"

namespace kvpage {

// Counters after a batch operation.
struct MirrorCounters {
  uint64_t operations = 0;  // batch operations that have ended; 0: none yet, or no mirror
  uint64_t free_blocks = 0;
  uint64_t pending_blocks = 0;
  uint64_t most_owned_blocks = 0;  // high water, as seen at the ends of operations
  uint64_t failed_rows = 0;        // rows and list entries that were not kOk, in all operations
  uint64_t misuses = 0;            // reports on misuse, in all

  static constexpr uint32_t kNumWords = 6;
};

// What was misused by. In-kernel calls know neither place nor row.
enum class MisusedBy : uint8_t { kTruncate, kClose, kCommitDraft, kShare, kRelease, kKernel };

// A report: a double free, a stale handle, more references than a block can have, or an id that is
// no block. The others of the batch went on.
struct Misuse {
  uint64_t number = 0;      // of the report, from 0
  uint64_t operations = 0;  // batch operations that had ended before
  MisusedBy by = MisusedBy::kKernel;
  OpStatus status = OpStatus::kOk;
  int32_t place = -1;  // in the batch or list
  int32_t row = -1;    // that the block was taken from
  BlockId block = kNullBlock;
  uint64_t owner = 0;  // BlockListBatch::owner

  friend bool operator==(const Misuse&, const Misuse&) = default;
};

struct MirrorStorage {
  static constexpr uint32_t kRingEntries = 256;
  static constexpr uint32_t kEntryWords = 5;
  static constexpr uint32_t kFirstEntry = 1 + 2 * MirrorCounters::kNumWords;
  static constexpr uint32_t kNumWords = kFirstEntry + kRingEntries * kEntryWords;
  static constexpr uint32_t kNumStateWords = 4;

  uint64_t* words = nullptr;  // [kNumWords], host memory; null: there is no mirror
  uint64_t* state = nullptr;  // [kNumStateWords], the backend's own: sums so far

  KVPAGE_HOST_DEVICE bool exists() const { return words != nullptr; }
  // Of the counters that operation number `operation` writes.
  KVPAGE_HOST_DEVICE uint64_t* counters(uint64_t operation) const {
    return words + 1 + operation % 2 * MirrorCounters::kNumWords;
  }
  KVPAGE_HOST_DEVICE uint64_t* entry(uint64_t number) const {
    return words + kFirstEntry + number % kRingEntries * kEntryWords;
  }
};

template <Atomics A>
class HostMirrorRef {
 public:
  KVPAGE_HOST_DEVICE explicit HostMirrorRef(const MirrorStorage& storage) : s_(storage) {}

  KVPAGE_HOST_DEVICE bool exists() const { return s_.exists(); }

  KVPAGE_HOST_DEVICE void Init(uint64_t worker) const {
    if (!exists() || worker != 0) return;
    for (uint32_t i = 0; i < MirrorStorage::kNumStateWords; ++i) {
      A::StoreRelaxed(&s_.state[i], uint64_t{0});
    }
  }

  // After a batch operation, by one thread.
  KVPAGE_HOST_DEVICE void Count(uint64_t num_blocks, uint64_t free, uint64_t pending,
                                uint64_t failed) const {
    const uint64_t operation = A::FetchAddRelaxed(Operations(), uint64_t{1}) + 1;
    const uint64_t failed_rows = A::FetchAddRelaxed(FailedRows(), failed) + failed;
    // Beside other operations a block may be counted twice, or not at all.
    const uint64_t others = free + pending;
    const uint64_t owned = others < num_blocks ? num_blocks - others : 0;
    const uint64_t most = A::LoadRelaxed(MostOwned());
    if (owned > most) A::StoreRelaxed(MostOwned(), owned);
    uint64_t* const counters = s_.counters(operation);
    A::StoreRelaxed(&counters[0], operation);
    A::StoreRelaxed(&counters[1], free);
    A::StoreRelaxed(&counters[2], pending);
    A::StoreRelaxed(&counters[3], owned > most ? owned : most);
    A::StoreRelaxed(&counters[4], failed_rows);
    A::StoreRelaxed(&counters[5], A::LoadRelaxed(Misuses()));
    A::StoreReleaseSystem(s_.words, operation);
  }

  // Reports misuse, if there is a mirror. Any thread.
  KVPAGE_HOST_DEVICE void Report(const Misuse& misuse) const {
    if (exists()) Write(s_, misuse);
  }

 private:
  KVPAGE_HOST_DEVICE uint64_t* Operations() const { return &s_.state[0]; }
  KVPAGE_HOST_DEVICE uint64_t* FailedRows() const { return &s_.state[1]; }
  KVPAGE_HOST_DEVICE uint64_t* MostOwned() const { return &s_.state[2]; }
  KVPAGE_HOST_DEVICE uint64_t* Misuses() const { return &s_.state[3]; }

  // Apart from the callers, whose registers it shall not need.
  KVPAGE_HOST_DEVICE KVPAGE_NOINLINE static void Write(const MirrorStorage storage,
                                                       const Misuse misuse) {
    const HostMirrorRef mirror(storage);
    const uint64_t number = A::FetchAddRelaxed(mirror.Misuses(), uint64_t{1});
    uint64_t* const entry = storage.entry(number);
    A::StoreReleaseSystem(&entry[0], uint64_t{0});  // incomplete,
    A::FenceAcqRel();                               //   before anything else is written
    A::StoreRelaxed(&entry[1], A::LoadRelaxed(mirror.Operations()));
    A::StoreRelaxed(&entry[2], static_cast<uint64_t>(misuse.by) << 40 |
                                   static_cast<uint64_t>(misuse.status) << 32 | misuse.block);
    A::StoreRelaxed(&entry[3], uint64_t{static_cast<uint32_t>(misuse.place)} << 32 |
                                   static_cast<uint32_t>(misuse.row));
    A::StoreRelaxed(&entry[4], misuse.owner);
    A::StoreReleaseSystem(&entry[0], number + 1);
  }

  MirrorStorage s_;
};

}  // namespace kvpage

#endif  // KVPAGE_CORE_HOST_MIRROR_H_
