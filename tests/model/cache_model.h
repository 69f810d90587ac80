// SPDX-License-Identifier: Apache-2.0
//
// tests/model/cache_model.h
//
// What a cache must do, said as plainly as possible: a set of free ids, a count per block, a list
// per row, one thing after another. It has the operations of CacheDriver
// (tests/support/cache_driver.h) and predicts every result: statuses, ids, slots, copies, state.

#ifndef KVPAGE_TESTS_MODEL_CACHE_MODEL_H_
#define KVPAGE_TESTS_MODEL_CACHE_MODEL_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "tests/model/pending_model.h"
#include "tests/support/cache_driver.h"

namespace kvpage::test {

class CacheModel {
 public:
  explicit CacheModel(const KvCacheOptions& options);

  Statuses Reserve(const Rows& rows, const Tokens& tokens, const RowSettings& settings);
  RowResults Append(const Rows& rows, const Tokens& tokens, const RowSettings& settings);
  Statuses Truncate(const Rows& rows, const Tokens& tokens, const RowSettings& settings);
  Statuses Close(const Rows& rows, const RowSettings& settings);
  RowResults Fork(const Rows& children, const Rows& parents, const Tokens& tokens,
                  const RowSettings& settings);
  Statuses Share(const Ids& ids, const ListSettings& settings);
  Statuses Release(const Ids& ids, const ListSettings& settings);

  RowResults BeginDraft(const Rows& rows, const Tokens& tokens, const Branches& branches,
                        const RowSettings& settings);
  Statuses CommitDraft(const Rows& rows, const Tokens& tokens, const Branches& branches,
                       const RowSettings& settings);
  Statuses AbortDraft(const Rows& rows, const RowSettings& settings);
  RowResults CompactDraft(const Rows& rows, const Tokens& tokens, const Trees& trees,
                          const RowSettings& settings) const;

  void Signal(uint64_t epoch) { pending_.Complete(epoch); }
  uint64_t SignalNext(uint64_t epoch);
  void Poll();

  CacheSnapshot Snapshot() const;

  // For those who choose the next operation.
  using Private = std::map<size_t, BlockId>;  // blocks of a branch, by their number in the row
  struct Draft {
    int32_t tokens = 0;
    std::vector<Private> branches;
    bool copies_tail = false;
  };
  struct Row {
    bool is_open = false;
    uint32_t generation = 0;
    int32_t kv_len = 0;
    Ids blocks;
    std::optional<Draft> draft = {};
  };
  struct Block {
    int32_t references = 0;
    uint32_t generation = 0;
  };
  const KvCacheOptions& options() const { return options_; }
  const Row& row(int32_t row) const { return rows_[static_cast<size_t>(row)]; }
  const Block& block(BlockId id) const { return blocks_.at(id); }
  const std::set<BlockId>& free_ids() const { return free_; }
  const PendingModel& pending() const { return pending_; }
  // References that came from Share and have not been released.
  const std::map<BlockId, int32_t>& outside() const { return outside_; }

 private:
  using Needs = std::vector<uint32_t>;

  size_t Meant(size_t size, const std::optional<int32_t>& count) const;
  // Asks plan(i) for each row that is meant, in the table, and there for the first time.
  Statuses Plan(const Rows& rows, const RowSettings& settings,
                const std::function<OpStatus(size_t)>& plan) const;
  static void CancelUnlessAllOk(Statuses& statuses, size_t meant, FailureMode failure);
  // Decides who gets what; answers with the ids for each place.
  std::vector<Ids> Grant(Statuses& statuses, const Needs& needs, FailureMode failure);
  RowResults Grow(const Rows& rows, const Tokens& tokens, const RowSettings& settings,
                  bool appends);
  Slots SlotsOf(const Rows& rows, const Tokens& tokens, const RowResults& results,
                int64_t capacity) const;
  std::vector<size_t> BlocksOf(int64_t begin, int64_t end) const;
  OpStatus PlanDraft(const Row& row, Draft& draft, bool with_copies) const;
  int64_t DraftSlot(const Row& row, const Private& branch, int64_t position) const;
  void DropDraft(const Draft& draft, uint64_t until);
  OpStatus FullOrRetry(size_t need) const;
  Ids DraftEntries(const Row& row) const;
  BlockId TakeLowest();
  // `until`: what PendingModel::Open answered.
  void Drop(BlockId id, uint64_t until);
  Statuses ChangeList(const Ids& ids, const ListSettings& settings, int32_t change);

  KvCacheOptions options_;
  std::vector<Row> rows_;
  std::map<BlockId, Block> blocks_;
  std::set<BlockId> free_;
  PendingModel pending_;
  std::map<BlockId, int32_t> outside_;
};

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_MODEL_CACHE_MODEL_H_
