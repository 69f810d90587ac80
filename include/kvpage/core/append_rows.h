// SPDX-License-Identifier: Apache-2.0
//
// kvpage/core/append_rows.h
//
// The batch operations Reserve and Append: blocks for more tokens of a row, and, for Append, the
// longer length, the slot of each new token, and the copy of a shared partial tail. See batch.h for
// what they answer.

#ifndef KVPAGE_CORE_APPEND_ROWS_H_
#define KVPAGE_CORE_APPEND_ROWS_H_

#include "kvpage/core/append_plan.h"
#include "kvpage/core/grow_rows.h"

namespace kvpage {

template <class A, class G>
using AppendRows = GrowRows<A, G, AppendPlan<A, G>>;

}  // namespace kvpage

#endif  // KVPAGE_CORE_APPEND_ROWS_H_
