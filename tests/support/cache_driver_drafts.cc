// SPDX-License-Identifier: Apache-2.0
//
// The part of CacheDriver that drives drafts and fences.

#include <algorithm>
#include <utility>

#include "tests/support/cache_driver.h"

namespace kvpage::test {

RowResults CacheDriver::BeginDraft(const Rows& rows, const Tokens& tokens, const Branches& branches,
                                   const RowSettings& settings) {
  const RowBatch batch = Batch(rows, settings);
  const size_t copies_per_row = cache_->table().max_draft_branches;
  const BeginDraftBatch begin{.batch = batch,
                              .tokens = arena_->Take(tokens),
                              .branches = branches.empty() ? nullptr : arena_->Take(branches),
                              .slots = TakeSlots(settings),
                              .slot_capacity = settings.slot_capacity.value_or(0),
                              .copies = TakeCopies(rows.size() * copies_per_row, settings)};
  return Finish(cache_->BeginDraft(stream(), begin), batch, begin.copies, begin.slots,
                begin.slot_capacity, copies_per_row);
}

Statuses CacheDriver::CommitDraft(const Rows& rows, const Tokens& tokens, const Branches& branches,
                                  const RowSettings& settings) {
  const RowBatch batch = Batch(rows, settings);
  const CommitDraftBatch commit{.batch = batch,
                                .tokens = arena_->Take(tokens),
                                .branches = branches.empty() ? nullptr : arena_->Take(branches),
                                .fence = FenceOf(settings.fence, settings.fence_in_memory)};
  return Finish(cache_->CommitDraft(stream(), commit), batch).statuses;
}

Statuses CacheDriver::AbortDraft(const Rows& rows, const RowSettings& settings) {
  const RowBatch batch = Batch(rows, settings);
  const Fence fence = FenceOf(settings.fence, settings.fence_in_memory);
  return Finish(cache_->AbortDraft(stream(), {batch, fence}), batch).statuses;
}

RowResults CacheDriver::CompactDraft(const Rows& rows, const Tokens& tokens, const Trees& trees,
                                     const RowSettings& settings) {
  const RowBatch batch = Batch(rows, settings);
  const size_t each = cache_->table().max_draft_tokens;
  std::vector<int32_t> parents;
  for (const std::vector<int32_t>& tree : trees.rows) {
    parents.insert(parents.end(), tree.begin(), tree.end());
    parents.resize(parents.size() + each - tree.size(), 0);
  }
  TokenMove* const moves = arena_->Take(Moves(rows.size() * each, kUnwrittenMove));
  int32_t* const commit_tokens = arena_->Take(Tokens(rows.size(), kUnwrittenTokens));
  absl::Status launched =
      cache_->CompactDraft(stream(), {.batch = batch,
                                      .tokens = arena_->Take(tokens),
                                      .leaves = arena_->Take(trees.leaves),
                                      .parents = parents.empty() ? nullptr : arena_->Take(parents),
                                      .moves = moves,
                                      .commit_tokens = commit_tokens});
  Await(std::move(launched));
  Moves made(moves, moves + rows.size() * each);
  Tokens to_commit(commit_tokens, commit_tokens + rows.size());
  RowResults results = Finish(absl::OkStatus(), batch);
  results.moves = std::move(made);
  results.commit_tokens = std::move(to_commit);
  return results;
}

void CacheDriver::MoveTokens(const Moves& moves, const KvTensor& tensor) {
  const auto num_rows = static_cast<int32_t>(moves.size() / cache_->table().max_draft_tokens);
  Await(cache_->MoveTokens(stream(), arena_->Take(moves), num_rows, {&tensor, 1}));
  EXPECT_TRUE(arena_->Reset()) << "an operation wrote beside its arrays";
}

void CacheDriver::Signal(uint64_t epoch) { Await(cache_->Signal(stream(), epoch)); }

uint64_t CacheDriver::SignalNext(uint64_t epoch) {
  uint64_t* const word = arena_->Take(std::vector<uint64_t>{epoch});
  Await(cache_->SignalNext(stream(), word));
  const uint64_t after = *word;
  EXPECT_TRUE(arena_->Reset()) << "an operation wrote beside its word";
  return after;
}

void CacheDriver::Poll() { Await(cache_->Poll(stream())); }

}  // namespace kvpage::test
