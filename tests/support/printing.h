// SPDX-License-Identifier: Apache-2.0
//
// tests/support/printing.h
//
// How GoogleTest prints kvpage's types: statuses by name, not by number.

#ifndef KVPAGE_TESTS_SUPPORT_PRINTING_H_
#define KVPAGE_TESTS_SUPPORT_PRINTING_H_

#include <ostream>

#include "kvpage/core/draft_batch.h"
#include "kvpage/core/op_status.h"
#include "kvpage/core/types.h"

namespace kvpage {

inline void PrintTo(OpStatus status, std::ostream* out) { *out << OpStatusName(status); }
inline void PrintTo(const BlockCopy& copy, std::ostream* out) {
  *out << "copy(" << copy.src << " -> " << copy.dst << ", " << copy.tokens << ")";
}
inline void PrintTo(const TokenMove& move, std::ostream* out) {
  *out << "move(" << move.src << " -> " << move.dst << ")";
}
inline void PrintTo(const BlockHandle& handle, std::ostream* out) {
  *out << "block " << handle.id << " of generation " << handle.generation;
}

}  // namespace kvpage

#endif  // KVPAGE_TESTS_SUPPORT_PRINTING_H_
