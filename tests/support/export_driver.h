// SPDX-License-Identifier: Apache-2.0
//
// tests/support/export_driver.h
//
// Drives the exports of the cache of a CacheDriver, and the drafts that they show, with vectors.

#ifndef KVPAGE_TESTS_SUPPORT_EXPORT_DRIVER_H_
#define KVPAGE_TESTS_SUPPORT_EXPORT_DRIVER_H_

#include <optional>
#include <vector>

#include "tests/support/cache_driver.h"

namespace kvpage::test {

using Words = std::vector<int32_t>;

struct ExportSettings {
  int32_t padded_rows = 0;
  std::optional<int32_t> count = {};
  std::optional<Words> branches = {};
  BlockNaming naming = {};
  bool with_lengths = true;
};

struct Exported {
  Statuses statuses = {};
  Words words = {};    // the table, the indices, or the slots' indptr
  Words indptr = {};   // Csr only
  Words last = {};     // Csr only
  Words lengths = {};  // but for slots
  Slots slots = {};

  friend bool operator==(const Exported&, const Exported&) = default;
};

inline constexpr int32_t kUnwrittenWord = -77;

class ExportDriver {
 public:
  explicit ExportDriver(CacheDriver& driver)
      : d_(driver), arena_(*driver.access().shared, 1 << 20) {}

  Exported Table(const Rows& rows, int32_t width, const ExportSettings& s = {},
                 int64_t line_stride = 0) {
    const size_t lines = Padded(rows, s);
    const size_t size = lines * static_cast<size_t>(line_stride == 0 ? width : line_stride);
    ExportTableBatch batch{.batch = Batch(rows, s),
                           .padded_rows = s.padded_rows,
                           .branches = Branches(s),
                           .naming = s.naming,
                           .table = arena_.Take(Words(size, kUnwrittenWord)),
                           .width = width,
                           .line_stride = line_stride,
                           .lengths = Lengths(lines, s)};
    Run(d_.cache().ExportTable(d_.stream(), batch));
    return Finish(batch.batch, {.words = Words(batch.table, batch.table + size),
                                .lengths = Take(batch.lengths, lines)});
  }

  Exported Csr(const Rows& rows, int32_t capacity, const ExportSettings& s = {}) {
    const size_t lines = Padded(rows, s);
    const size_t size = static_cast<size_t>(capacity);
    ExportCsrBatch batch{.batch = Batch(rows, s),
                         .padded_rows = s.padded_rows,
                         .branches = Branches(s),
                         .naming = s.naming,
                         .indptr = arena_.Take(Words(lines + 1, kUnwrittenWord)),
                         .indices = arena_.Take(Words(size, kUnwrittenWord)),
                         .index_capacity = capacity,
                         .last_page_len = arena_.Take(Words(lines, kUnwrittenWord)),
                         .lengths = Lengths(lines, s)};
    Run(d_.cache().ExportCsr(d_.stream(), batch));
    return Finish(batch.batch, {.words = Words(batch.indices, batch.indices + size),
                                .indptr = Words(batch.indptr, batch.indptr + lines + 1),
                                .last = Take(batch.last_page_len, lines),
                                .lengths = Take(batch.lengths, lines)});
  }

  Exported Slots(const Rows& rows, const Tokens& tokens, int64_t capacity,
                 const ExportSettings& s = {}, const std::optional<Words>& first = {},
                 const TokenShare& share = {}) {
    const size_t lines = Padded(rows, s);
    const size_t size = static_cast<size_t>(capacity);
    ExportSlotsBatch batch{.batch = Batch(rows, s),
                           .padded_rows = s.padded_rows,
                           .branches = Branches(s),
                           .tokens = arena_.Take(tokens),
                           .first = first ? arena_.Take(*first) : nullptr,
                           .id_offset = s.naming.id_offset,
                           .share = share,
                           .slots = arena_.Take(test::Slots(size, -77)),
                           .slot_capacity = capacity,
                           .slot_indptr = arena_.Take(Words(lines + 1, kUnwrittenWord))};
    Run(d_.cache().ExportSlots(d_.stream(), batch));
    Exported exported{.words = Words(batch.slot_indptr, batch.slot_indptr + lines + 1)};
    exported.slots.assign(batch.slots, batch.slots + size);
    return Finish(batch.batch, exported);
  }

  // Opens a draft of each row; the slots of its tokens. All rows must be fine.
  test::Slots BeginDraft(const Rows& rows, const Tokens& tokens, const Words& branches) {
    const uint32_t per_row = d_.cache().table().max_draft_branches;
    size_t size = 0;
    for (size_t i = 0; i < rows.size(); ++i) size += static_cast<size_t>(tokens[i] * branches[i]);
    BeginDraftBatch batch{.batch = Batch(rows, {}),
                          .tokens = arena_.Take(tokens),
                          .branches = arena_.Take(branches),
                          .slots = arena_.Take(test::Slots(size, -77)),
                          .slot_capacity = static_cast<int64_t>(size),
                          .copies = arena_.Take(Copies(rows.size() * per_row))};
    Run(d_.cache().BeginDraft(d_.stream(), batch));
    test::Slots slots(batch.slots, batch.slots + size);
    EXPECT_EQ(Finish(batch.batch, {}).statuses, Statuses(rows.size(), OpStatus::kOk));
    return slots;
  }
  Statuses CommitDraft(const Rows& rows, const Tokens& tokens, const Words& branches) {
    const CommitDraftBatch batch{
        .batch = Batch(rows, {}), .tokens = arena_.Take(tokens), .branches = arena_.Take(branches)};
    Run(d_.cache().CommitDraft(d_.stream(), batch));
    return Finish(batch.batch, {}).statuses;
  }

 private:
  static size_t Padded(const Rows& rows, const ExportSettings& s) {
    return s.padded_rows == 0 ? rows.size() : static_cast<size_t>(s.padded_rows);
  }
  static Words Take(const int32_t* words, size_t count) {
    return words == nullptr ? Words() : Words(words, words + count);
  }
  RowBatch Batch(const Rows& rows, const ExportSettings& s) {
    return {.rows = arena_.Take(rows),
            .num_rows = static_cast<int32_t>(rows.size()),
            .statuses = arena_.Take(Statuses(rows.size(), kUnwritten)),
            .count = s.count ? arena_.Take(Words{*s.count}) : nullptr};
  }
  const int32_t* Branches(const ExportSettings& s) {
    return s.branches ? arena_.Take(*s.branches) : nullptr;
  }
  int32_t* Lengths(size_t lines, const ExportSettings& s) {
    return s.with_lengths ? arena_.Take(Words(lines, kUnwrittenWord)) : nullptr;
  }
  void Run(const absl::Status& launched) {
    EXPECT_TRUE(launched.ok()) << launched;
    const absl::Status ran = d_.cache().Synchronize(d_.stream());
    EXPECT_TRUE(ran.ok()) << ran;
  }
  Exported Finish(const RowBatch& batch, Exported exported) {
    exported.statuses.assign(batch.statuses, batch.statuses + batch.num_rows);
    EXPECT_TRUE(arena_.Reset()) << "an export wrote beside its arrays";
    return exported;
  }

  CacheDriver& d_;
  GuardedArena arena_;
};

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_SUPPORT_EXPORT_DRIVER_H_
