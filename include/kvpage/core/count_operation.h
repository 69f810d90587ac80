// SPDX-License-Identifier: Apache-2.0
//
// kvpage/core/count_operation.h
//
// The end of a batch operation for the host: its counters go to the mirror, if there is one.

#ifndef KVPAGE_CORE_COUNT_OPERATION_H_
#define KVPAGE_CORE_COUNT_OPERATION_H_

#include <cstdint>

#include "kvpage/core/block_pool_ref.h"
#include "kvpage/core/row_batch.h"

namespace kvpage {

// `statuses`: the operation's, as many as CountOrLimit(count, limit); null: it has none.
// Collective.
template <Atomics A, Group G>
KVPAGE_HOST_DEVICE void CountOperation(G& g, const BlockPoolRef<A>& pool, const OpStatus* statuses,
                                       const int32_t* count, int32_t limit) {
  if (!pool.mirror().exists()) return;
  g.Sync();  // a lane may have set the status of another's row
  const uint32_t size = statuses == nullptr ? 0 : CountOrLimit(count, limit);
  uint64_t failed = 0;
  for (uint32_t i = g.rank(); i < size; i += g.size()) failed += statuses[i] != OpStatus::kOk;
  failed = g.Sum(failed);
  const int64_t bound = pool.gate().ScanShards(g, 0, 0).bound;
  if (g.rank() != 0) return;
  pool.mirror().Count(pool.num_blocks(), static_cast<uint64_t>(bound), pool.pending().NumPending(),
                      failed);
}

}  // namespace kvpage

#endif  // KVPAGE_CORE_COUNT_OPERATION_H_
