// SPDX-License-Identifier: Apache-2.0
//
// tools/replay/status_macros.h
//
// Passes an absl::Status that is not OK on to the caller.

#ifndef KVPAGE_TOOLS_REPLAY_STATUS_MACROS_H_
#define KVPAGE_TOOLS_REPLAY_STATUS_MACROS_H_

#include "absl/status/status.h"

#define KVPAGE_REPLAY_RETURN_IF_ERROR(expression)                           \
  do {                                                                      \
    if (absl::Status status_ = (expression); !status_.ok()) return status_; \
  } while (false)

#endif  // KVPAGE_TOOLS_REPLAY_STATUS_MACROS_H_
