// SPDX-License-Identifier: Apache-2.0

#include "tests/support/cache_driver.h"

#include <utility>

#include "kvpage/core/cpu_atomics.h"

namespace kvpage::test {
namespace {

constexpr size_t kArenaBytes = 1 << 22;

BlockState StateOf(uint32_t word) {
  const BlockWordsStorage alone{&word, WordLayout::Make(1, sizeof(word), Placement::kContiguous)};
  return BlockWordsRef<CpuAtomics>(alone).State(1);
}

}  // namespace

CacheDriver::CacheDriver(std::unique_ptr<KvCache> cache, const BackendAccess& access)
    : cache_(std::move(cache)),
      access_(access),
      arena_(std::make_unique<GuardedArena>(*access.shared, kArenaBytes)) {}

void CacheDriver::Await(absl::Status launched) {
  EXPECT_TRUE(launched.ok()) << launched;
  const absl::Status ran = cache_->Synchronize(stream());
  EXPECT_TRUE(ran.ok()) << ran;
}

RowBatch CacheDriver::Batch(const Rows& rows, const RowSettings& settings) {
  return {.rows = arena_->Take(rows),
          .num_rows = static_cast<int32_t>(rows.size()),
          .statuses = arena_->Take(Statuses(rows.size(), kUnwritten)),
          .count = settings.count ? arena_->Take(std::vector<int32_t>{*settings.count}) : nullptr,
          .failure = settings.failure};
}

RowResults CacheDriver::Finish(absl::Status launched, const RowBatch& batch,
                               const BlockCopy* copies, const int64_t* slots,
                               int64_t slot_capacity) {
  Await(std::move(launched));
  RowResults results;
  results.statuses.assign(batch.statuses, batch.statuses + batch.num_rows);
  if (copies != nullptr) results.copies.assign(copies, copies + batch.num_rows);
  if (slots != nullptr) results.slots.assign(slots, slots + slot_capacity);
  EXPECT_TRUE(arena_->Reset()) << "an operation wrote beside its arrays";
  return results;
}

Statuses CacheDriver::Reserve(const Rows& rows, const Tokens& tokens, const RowSettings& settings) {
  const RowBatch batch = Batch(rows, settings);
  return Finish(cache_->Reserve(stream(), {batch, arena_->Take(tokens)}), batch).statuses;
}

RowResults CacheDriver::Append(const Rows& rows, const Tokens& tokens,
                               const RowSettings& settings) {
  const RowBatch batch = Batch(rows, settings);
  AppendBatch append{.batch = batch, .tokens = arena_->Take(tokens)};
  if (settings.slot_capacity) {
    append.slot_capacity = *settings.slot_capacity;
    append.slots = arena_->Take(Slots(static_cast<size_t>(append.slot_capacity), -2));
  }
  if (settings.with_copies) append.copies = arena_->Take(Copies(rows.size(), kUnwrittenCopy));
  return Finish(cache_->Append(stream(), append), batch, append.copies, append.slots,
                append.slot_capacity);
}

Statuses CacheDriver::Truncate(const Rows& rows, const Tokens& tokens,
                               const RowSettings& settings) {
  const RowBatch batch = Batch(rows, settings);
  return Finish(cache_->Truncate(stream(), {batch, arena_->Take(tokens)}), batch).statuses;
}

Statuses CacheDriver::Close(const Rows& rows, const RowSettings& settings) {
  const RowBatch batch = Batch(rows, settings);
  return Finish(cache_->Close(stream(), {batch}), batch).statuses;
}

RowResults CacheDriver::Fork(const Rows& children, const Rows& parents, const Tokens& tokens,
                             const RowSettings& settings) {
  const RowBatch batch = Batch(children, settings);
  BlockCopy* const copies =
      settings.with_copies ? arena_->Take(Copies(children.size(), kUnwrittenCopy)) : nullptr;
  return Finish(
      cache_->Fork(stream(), {batch, arena_->Take(parents), arena_->Take(tokens), copies}), batch,
      copies);
}

BlockListBatch CacheDriver::List(const Ids& ids, const ListSettings& settings) {
  return {.ids = arena_->Take(ids),
          .num_ids = static_cast<int32_t>(ids.size()),
          .statuses = arena_->Take(Statuses(ids.size(), kUnwritten)),
          .generations = settings.generations ? arena_->Take(*settings.generations) : nullptr,
          .count = settings.count ? arena_->Take(std::vector<int32_t>{*settings.count}) : nullptr,
          .failure = settings.failure};
}

Statuses CacheDriver::FinishList(absl::Status launched, const BlockListBatch& list) {
  Await(std::move(launched));
  Statuses statuses(list.statuses, list.statuses + list.num_ids);
  EXPECT_TRUE(arena_->Reset()) << "an operation wrote beside its arrays";
  return statuses;
}

Statuses CacheDriver::Share(const Ids& ids, const ListSettings& settings) {
  const BlockListBatch list = List(ids, settings);
  return FinishList(cache_->Share(stream(), list), list);
}

Statuses CacheDriver::Release(const Ids& ids, const ListSettings& settings) {
  const BlockListBatch list = List(ids, settings);
  return FinishList(cache_->Release(stream(), list), list);
}

Ids CacheDriver::WholeRow(int32_t row) {
  const PageTableStorage& table = cache_->table();
  const size_t row_blocks = table.max_blocks_per_sequence;
  return Read(table.entries + static_cast<size_t>(row) * row_blocks, row_blocks);
}

Ids CacheDriver::Row(int32_t row) {
  Ids entries = WholeRow(row);
  entries.resize(Held(row));
  return entries;
}

SequenceState CacheDriver::Sequence(int32_t row) {
  const PageTableStorage& table = cache_->table();
  const uint32_t index = table.sequence_layout.Index(static_cast<uint32_t>(row));
  return SequenceState::Parse(Read(&table.sequence_words[index]));
}

uint32_t CacheDriver::Held(int32_t row) { return Read(&cache_->table().held_blocks[row]); }

BlockState CacheDriver::Block(BlockId id) {
  const BlockWordsStorage& words = cache_->pool().words;
  return StateOf(Read(&words.words[words.layout.Index(id - 1)]));
}

CacheSnapshot CacheDriver::Snapshot() {
  const PageTableStorage& table = cache_->table();
  const BlockPoolStorage& pool = cache_->pool();
  CacheSnapshot snapshot;
  const size_t row_blocks = table.max_blocks_per_sequence;
  const Ids entries = Read(table.entries, table.max_sequences * row_blocks);
  const auto sequences = Read(table.sequence_words, table.sequence_layout.size());
  const auto held = Read(table.held_blocks, table.max_sequences);
  for (uint32_t row = 0; row < table.max_sequences; ++row) {
    const auto state = SequenceState::Parse(sequences[table.sequence_layout.Index(row)]);
    const auto first = entries.begin() + static_cast<ptrdiff_t>(row * row_blocks);
    snapshot.rows.push_back({state.open, state.generation, state.kv_len, held[row],
                             Ids(first, first + static_cast<ptrdiff_t>(row_blocks))});
  }
  const auto leaves = Read(pool.bits.leaves, pool.bits.num_leaves());
  const auto words = Read(pool.words.words, pool.words.layout.size());
  for (uint32_t i = 0; i < pool.num_blocks(); ++i) {
    const BlockState state = StateOf(words[pool.words.layout.Index(i)]);
    const bool is_free = (leaves[i / 64] >> i % 64 & 1) != 0;
    snapshot.blocks.push_back({state.references, state.generation, is_free});
  }
  return snapshot;
}

AuditReport CacheDriver::Audit() {
  const absl::StatusOr<AuditReport> report = cache_->AuditNow(stream());
  EXPECT_TRUE(report.ok()) << report.status();
  return report.ok() ? *report : AuditReport{};
}

uint64_t CacheDriver::Hash() {
  const absl::StatusOr<uint64_t> hash = cache_->StateHashNow(stream());
  EXPECT_TRUE(hash.ok()) << hash.status();
  return hash.ok() ? *hash : 0;
}

}  // namespace kvpage::test
