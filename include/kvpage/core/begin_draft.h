// SPDX-License-Identifier: Apache-2.0
//
// kvpage/core/begin_draft.h
//
// The batch operation BeginDraft: private blocks for speculative tokens of a row, and the slot of
// each. See draft_batch.h for what it answers.

#ifndef KVPAGE_CORE_BEGIN_DRAFT_H_
#define KVPAGE_CORE_BEGIN_DRAFT_H_

#include "kvpage/core/draft_plan.h"
#include "kvpage/core/grow_rows.h"

namespace kvpage {

template <class A, class G>
using BeginDraft = GrowRows<A, G, DraftPlan<A, G>>;

}  // namespace kvpage

#endif  // KVPAGE_CORE_BEGIN_DRAFT_H_
