// SPDX-License-Identifier: Apache-2.0
//
// kvpage/core/op_status.h
//
// What an operation answers for one row, one list entry or one request.

#ifndef KVPAGE_CORE_OP_STATUS_H_
#define KVPAGE_CORE_OP_STATUS_H_

#include <cstdint>

#include "kvpage/core/macros.h"

namespace kvpage {

// Anything but kOk means that this row (entry, request) changed nothing; the one exception is told
// at CloseBatch.
enum class OpStatus : uint8_t {
  kOk = 0,
  kFull,             // at some instant during the call fewer blocks were free than asked for
  kNeverFits,        // more blocks than the pool holds in all: waiting cannot help
  kTableFull,        // longer than the row of the page table, or than there is room in an export
  kInvalid,          // an argument is out of range, or a row stands twice in one batch
  kDoubleFree,       // a reference is given back that nobody holds
  kStale,            // the handle's block has been released since
  kClosed,           // the row is closed
  kWrongState,       // the row is open where a closed one is needed
  kCancelled,        // whole-batch failure: this row was fine, another was not
  kRetryAfterFence,  // like kFull, but enough once the pending blocks have become free
};

// The constant's name without its k, as a string that lives for ever.
constexpr const char* OpStatusName(OpStatus status) {
  switch (status) {
    case OpStatus::kOk:
      return "Ok";
    case OpStatus::kFull:
      return "Full";
    case OpStatus::kNeverFits:
      return "NeverFits";
    case OpStatus::kTableFull:
      return "TableFull";
    case OpStatus::kInvalid:
      return "Invalid";
    case OpStatus::kDoubleFree:
      return "DoubleFree";
    case OpStatus::kStale:
      return "Stale";
    case OpStatus::kClosed:
      return "Closed";
    case OpStatus::kWrongState:
      return "WrongState";
    case OpStatus::kCancelled:
      return "Cancelled";
    case OpStatus::kRetryAfterFence:
      return "RetryAfterFence";
  }
  return "Unknown";
}

}  // namespace kvpage

#endif  // KVPAGE_CORE_OP_STATUS_H_
