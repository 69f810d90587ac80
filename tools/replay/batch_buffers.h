// SPDX-License-Identifier: Apache-2.0
//
// tools/replay/batch_buffers.h
//
// The arrays of a batch, in memory that both the program and the backend can access.

#ifndef KVPAGE_TOOLS_REPLAY_BATCH_BUFFERS_H_
#define KVPAGE_TOOLS_REPLAY_BATCH_BUFFERS_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/statusor.h"

#include "kvpage/core/op_status.h"
#include "kvpage/memory_resource.h"

namespace kvpage::replay {

class BatchBuffers {
 public:
  // For batches of up to `max_rows` rows and appends of up to `max_slots` tokens. `memory` must
  // outlive the buffers.
  static absl::StatusOr<BatchBuffers> Create(MemoryResource& memory, uint32_t max_rows,
                                             uint32_t max_slots);
  BatchBuffers(BatchBuffers&& other) noexcept;
  BatchBuffers& operator=(BatchBuffers&&) = delete;
  ~BatchBuffers();

  std::span<int32_t> rows() const { return rows_; }
  std::span<int32_t> tokens() const { return tokens_; }
  std::span<OpStatus> statuses() const { return statuses_; }
  std::span<int64_t> slots() const { return slots_; }

 private:
  BatchBuffers() = default;
  size_t Carve(uint32_t max_rows, uint32_t max_slots);

  MemoryResource* resource_ = nullptr;
  void* memory_ = nullptr;
  size_t bytes_ = 0;
  std::span<int32_t> rows_;
  std::span<int32_t> tokens_;
  std::span<OpStatus> statuses_;
  std::span<int64_t> slots_;
};

}  // namespace kvpage::replay

#endif  // KVPAGE_TOOLS_REPLAY_BATCH_BUFFERS_H_
