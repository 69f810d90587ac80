// SPDX-License-Identifier: Apache-2.0

#include "tests/support/cache_driver.h"

#include <utility>

namespace kvpage::test {
namespace {

constexpr size_t kArenaBytes = 1 << 22;

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

Fence CacheDriver::FenceOf(uint64_t epoch, bool in_memory) {
  if (!in_memory) return {.epoch = epoch};
  return {.epoch_word = arena_->Take(std::vector<uint64_t>{epoch})};
}

BlockCopy* CacheDriver::TakeCopies(size_t count, const RowSettings& settings) {
  return settings.with_copies ? arena_->Take(Copies(count, kUnwrittenCopy)) : nullptr;
}

int64_t* CacheDriver::TakeSlots(const RowSettings& settings) {
  if (!settings.slot_capacity) return nullptr;
  return arena_->Take(Slots(static_cast<size_t>(*settings.slot_capacity), -2));
}

RowResults CacheDriver::Finish(absl::Status launched, const RowBatch& batch,
                               const BlockCopy* copies, const int64_t* slots, int64_t slot_capacity,
                               size_t copies_per_row) {
  Await(std::move(launched));
  const auto num_rows = static_cast<size_t>(batch.num_rows);
  RowResults results;
  results.statuses.assign(batch.statuses, batch.statuses + num_rows);
  if (copies != nullptr) results.copies.assign(copies, copies + num_rows * copies_per_row);
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
  const AppendBatch append{.batch = batch,
                           .tokens = arena_->Take(tokens),
                           .slots = TakeSlots(settings),
                           .slot_capacity = settings.slot_capacity.value_or(0),
                           .copies = TakeCopies(rows.size(), settings),
                           .fence = FenceOf(settings.fence, settings.fence_in_memory)};
  return Finish(cache_->Append(stream(), append), batch, append.copies, append.slots,
                append.slot_capacity);
}

Statuses CacheDriver::Truncate(const Rows& rows, const Tokens& tokens,
                               const RowSettings& settings) {
  const RowBatch batch = Batch(rows, settings);
  const Fence fence = FenceOf(settings.fence, settings.fence_in_memory);
  return Finish(cache_->Truncate(stream(), {batch, arena_->Take(tokens), fence}), batch).statuses;
}

Statuses CacheDriver::Close(const Rows& rows, const RowSettings& settings) {
  const RowBatch batch = Batch(rows, settings);
  const Fence fence = FenceOf(settings.fence, settings.fence_in_memory);
  return Finish(cache_->Close(stream(), {batch, fence}), batch).statuses;
}

RowResults CacheDriver::Fork(const Rows& children, const Rows& parents, const Tokens& tokens,
                             const RowSettings& settings) {
  const RowBatch batch = Batch(children, settings);
  BlockCopy* const copies = TakeCopies(children.size(), settings);
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
          .failure = settings.failure,
          .fence = {.epoch = settings.fence}};
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
