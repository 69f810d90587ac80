// SPDX-License-Identifier: Apache-2.0
//
// kvpage/core/row_agreement.h
//
// What the places of a batch have to know of each other, for the short ways that keep a place in a
// lane (fork_step.h, release_step.h): whether a row is mentioned twice, and whether one failure
// cancels all.
//
// Memory ordering: collective over the group where it says so; it Syncs before it reads claims.
// Cost: as row_batch.h; nothing where rows are in ascending order and fail for themselves.

#ifndef KVPAGE_CORE_ROW_AGREEMENT_H_
#define KVPAGE_CORE_ROW_AGREEMENT_H_

#include <cstdint>

#include "kvpage/core/row_batch.h"

namespace kvpage {

// What becomes of place i, which this lane looks after if it is_place and which is `status` by
// itself. Rows in ascending order are different ones. Collective.
template <Atomics A, Group G>
KVPAGE_HOST_DEVICE OpStatus AgreeOnPlace(G& g, const PageTableRef<A>& table, const RowBatch& batch,
                                         bool is_ascending, bool is_place, uint32_t i,
                                         OpStatus status) {
  if (!is_ascending) {
    const RowBatchRun<A, G> rows(g, table, batch);
    g.Sync();  // before IsFirst
    if (is_place && (!rows.IsRow(i) || !rows.IsFirst(i))) status = OpStatus::kInvalid;
  }
  if (batch.failure == FailureMode::kWholeBatch) {
    const bool is_failure = is_place && status != OpStatus::kOk;
    if (g.Any(is_failure) && status == OpStatus::kOk) status = OpStatus::kCancelled;
  }
  return status;
}

// Whether the rows of a batch of `size` places are in ascending order. Collective.
template <Group B>
KVPAGE_HOST_DEVICE bool IsAscending(B& b, const RowBatch& batch, uint32_t size) {
  bool is_ascending = true;
  for (uint32_t i = b.rank() + 1; i < size; i += b.size()) {
    is_ascending &= batch.rows[i - 1] < batch.rows[i];
  }
  return !b.Any(!is_ascending);
}

}  // namespace kvpage

#endif  // KVPAGE_CORE_ROW_AGREEMENT_H_
