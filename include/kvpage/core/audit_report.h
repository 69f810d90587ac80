// SPDX-License-Identifier: Apache-2.0
//
// kvpage/core/audit_report.h
//
// What an audit found. The invariant holds if every error count is 0.

#ifndef KVPAGE_CORE_AUDIT_REPORT_H_
#define KVPAGE_CORE_AUDIT_REPORT_H_

#include <cstdint>

namespace kvpage {

struct AuditReport {
  uint64_t num_blocks = 0;
  uint64_t free_blocks = 0;             // by their bits
  uint64_t owned_blocks = 0;            // by their words
  uint64_t pending_blocks = 0;          // by the bits of their sets: they wait for a fence
  uint64_t counted_pending_blocks = 0;  // by the counts of the sets
  uint64_t references = 0;              // of all owned blocks
  uint64_t open_rows = 0;
  uint64_t open_drafts = 0;
  uint64_t table_references = 0;  // references that are an entry of a row or of its draft

  // Owned blocks that have more references than entries: held by the caller, or leaked. The
  // workspace of the audit holds, per block, how many.
  uint64_t outside_blocks = 0;

  // Errors.
  uint64_t gate_errors = 0;   // a shard's count is not its number of set bits, or a request is open
  uint64_t block_errors = 0;  // not exactly one of free, owned and pending; references below 0
  uint64_t summary_errors = 0;  // a leaf with free blocks that the summary hides
  uint64_t row_errors = 0;  // an entry that is no owned block, a tail that is not null, a length
                            // beyond the row's blocks
  uint64_t reference_errors = 0;  // more entries name a block than it has references

  bool ok() const {
    return free_blocks + owned_blocks + pending_blocks == num_blocks &&
           counted_pending_blocks == pending_blocks && gate_errors == 0 && block_errors == 0 &&
           summary_errors == 0 && row_errors == 0 && reference_errors == 0;
  }
};

}  // namespace kvpage

#endif  // KVPAGE_CORE_AUDIT_REPORT_H_
