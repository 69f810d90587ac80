// SPDX-License-Identifier: Apache-2.0
//
// tests/support/cache_driver.h
//
// Drives a KvCache of any backend with vectors: hands them over in memory that the backend reaches,
// waits, and answers with what the operation wrote. Also reads and writes the cache's state.
//
// Example:
//   CacheDriver driver = Backend::Drive({.num_blocks = 64, ...});
//   EXPECT_EQ(driver.Append({0, 1}, {20, 3}).statuses, Statuses({kOk, kOk}));
//   EXPECT_EQ(driver.Row(0), Ids({1, 2}));
//
// Failure: an operation that does not run, or that writes beside its arrays, fails the test.

#ifndef KVPAGE_TESTS_SUPPORT_CACHE_DRIVER_H_
#define KVPAGE_TESTS_SUPPORT_CACHE_DRIVER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "kvpage/core/block_words.h"
#include "kvpage/core/page_table_ref.h"
#include "kvpage/kv_cache.h"
#include "tests/support/cache_snapshot.h"
#include "tests/support/guarded_arena.h"
#include "tests/support/printing.h"

namespace kvpage::test {

using Rows = std::vector<int32_t>;
using Tokens = std::vector<int32_t>;
using Slots = std::vector<int64_t>;
using Statuses = std::vector<OpStatus>;
using Copies = std::vector<BlockCopy>;
using Branches = std::vector<int32_t>;  // none: no such array
using Moves = std::vector<TokenMove>;

// What an array of results holds before an operation; seen where it wrote nothing.
inline constexpr OpStatus kUnwritten = static_cast<OpStatus>(0xee);
inline constexpr BlockCopy kUnwrittenCopy = {0xeeee, 0xeeee, -1};
inline constexpr TokenMove kUnwrittenMove = {-7, -7};
inline constexpr int32_t kUnwrittenTokens = -7;

// How a test reaches what belongs to a backend.
struct BackendAccess {
  StreamRef stream;
  MemoryResource* shared;  // memory that the test and the backend both reach
  MemoryResource* own;     // memory of the backend, to be reached by download and upload
  void (*download)(void* to, const void* from, size_t bytes);
  void (*upload)(void* to, const void* from, size_t bytes);
};

struct RowSettings {
  FailureMode failure = FailureMode::kPerRow;
  std::optional<int32_t> count = {};          // the count in memory; none: no such array
  std::optional<int64_t> slot_capacity = {};  // none: no array of slots
  bool with_copies = true;                    // whether there is an array of copies
  uint64_t fence = 0;                         // epoch; 0: no fence
  bool fence_in_memory = false;               // the epoch lies in memory
};

struct RowResults {
  Statuses statuses;
  Slots slots;
  Copies copies;  // max_draft_branches for each row of BeginDraft

  // Of CompactDraft: max_draft_tokens moves for each row.
  Moves moves = {};
  Tokens commit_tokens = {};

  friend bool operator==(const RowResults&, const RowResults&) = default;
};

struct ListSettings {
  FailureMode failure = FailureMode::kWholeBatch;
  std::optional<int32_t> count = {};
  std::optional<std::vector<uint32_t>> generations = {};
  uint64_t fence = 0;  // Release only
};

// The trees of a CompactDraft.
struct Trees {
  Rows leaves;                             // [rows]
  std::vector<std::vector<int32_t>> rows;  // parents of each row's nodes; none: no such array
};

class CacheDriver {
 public:
  CacheDriver(std::unique_ptr<KvCache> cache, const BackendAccess& access);

  KvCache& cache() { return *cache_; }
  StreamRef stream() const { return access_.stream; }
  const BackendAccess& access() const { return access_; }

  Statuses Reserve(const Rows& rows, const Tokens& tokens, const RowSettings& settings = {});
  RowResults Append(const Rows& rows, const Tokens& tokens, const RowSettings& settings = {});
  Statuses Truncate(const Rows& rows, const Tokens& tokens, const RowSettings& settings = {});
  Statuses Close(const Rows& rows, const RowSettings& settings = {});
  RowResults Fork(const Rows& children, const Rows& parents, const Tokens& tokens,
                  const RowSettings& settings = {});
  Statuses Share(const Ids& ids, const ListSettings& settings = {});
  Statuses Release(const Ids& ids, const ListSettings& settings = {});

  RowResults BeginDraft(const Rows& rows, const Tokens& tokens, const Branches& branches = {},
                        const RowSettings& settings = {});
  Statuses CommitDraft(const Rows& rows, const Tokens& tokens, const Branches& branches = {},
                       const RowSettings& settings = {});
  Statuses AbortDraft(const Rows& rows, const RowSettings& settings = {});
  RowResults CompactDraft(const Rows& rows, const Tokens& tokens, const Trees& trees,
                          const RowSettings& settings = {});
  // The tensor lies in memory that the backend reaches.
  void MoveTokens(const Moves& moves, const KvTensor& tensor);

  void Signal(uint64_t epoch);
  uint64_t SignalNext(uint64_t epoch);  // the epoch lies in memory; what lies there afterwards
  void Poll();

  // The state.
  Ids Row(int32_t row);       // entries in use
  Ids WholeRow(int32_t row);  // all entries
  SequenceState Sequence(int32_t row);
  int32_t Length(int32_t row) { return Sequence(row).kv_len; }
  uint32_t Held(int32_t row);
  Ids DraftRow(int32_t row);  // private blocks of its draft, branch by branch, null-filled
  BlockState Block(BlockId id);
  CacheSnapshot Snapshot();  // all of it, but for the gate
  AuditReport Audit();
  uint64_t FreeBlocks() { return Audit().free_blocks; }
  uint64_t Hash();

  template <class T>
  std::vector<T> Read(const T* words, size_t count) {
    std::vector<T> values(count);
    if (count > 0) access_.download(values.data(), words, count * sizeof(T));
    return values;
  }
  // One word of the state, to look at or to corrupt.
  template <class T>
  T Read(const T* word) {
    T value;
    access_.download(&value, word, sizeof(T));
    return value;
  }
  template <class T>
  void Write(T* word, T value) {
    access_.upload(word, &value, sizeof(T));
  }

 private:
  RowBatch Batch(const Rows& rows, const RowSettings& settings);
  Fence FenceOf(uint64_t epoch, bool in_memory);
  // Arrays that have nothing written in them yet; null where there shall be none.
  BlockCopy* TakeCopies(size_t count, const RowSettings& settings);
  int64_t* TakeSlots(const RowSettings& settings);
  // Waits for the operation; the statuses, copies and slots are then in the result.
  RowResults Finish(absl::Status launched, const RowBatch& batch, const BlockCopy* copies = nullptr,
                    const int64_t* slots = nullptr, int64_t slot_capacity = 0,
                    size_t copies_per_row = 1);
  BlockListBatch List(const Ids& ids, const ListSettings& settings);
  Statuses FinishList(absl::Status launched, const BlockListBatch& list);
  void Await(absl::Status launched);
  void ReadRows(CacheSnapshot& snapshot);
  void ReadBlocks(CacheSnapshot& snapshot);

  std::unique_ptr<KvCache> cache_;
  BackendAccess access_;
  std::unique_ptr<GuardedArena> arena_;
};

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_SUPPORT_CACHE_DRIVER_H_
