// SPDX-License-Identifier: Apache-2.0
//
// One allocation, cut into the arrays of a batch.

#include "tools/replay/batch_buffers.h"

#include <utility>

#include "kvpage/core/carver.h"

namespace kvpage::replay {

absl::StatusOr<BatchBuffers> BatchBuffers::Create(MemoryResource& memory, uint32_t max_rows,
                                                  uint32_t max_slots) {
  BatchBuffers buffers;
  const size_t bytes = buffers.Carve(max_rows, max_slots);
  absl::StatusOr<void*> allocated = memory.Allocate(bytes, Carver::kAlignment);
  if (!allocated.ok()) return allocated.status();
  buffers.resource_ = &memory;
  buffers.memory_ = *allocated;
  buffers.bytes_ = bytes;
  buffers.Carve(max_rows, max_slots);
  return buffers;
}

BatchBuffers::BatchBuffers(BatchBuffers&& other) noexcept
    : resource_(other.resource_),
      memory_(std::exchange(other.memory_, nullptr)),
      bytes_(other.bytes_),
      rows_(other.rows_),
      tokens_(other.tokens_),
      statuses_(other.statuses_),
      slots_(other.slots_) {}

BatchBuffers::~BatchBuffers() {
  if (memory_ != nullptr) resource_->Deallocate(memory_, bytes_, Carver::kAlignment);
}

size_t BatchBuffers::Carve(uint32_t max_rows, uint32_t max_slots) {
  Carver carver(memory_);
  rows_ = {carver.Take<int32_t>(max_rows), memory_ == nullptr ? 0 : max_rows};
  tokens_ = {carver.Take<int32_t>(max_rows), memory_ == nullptr ? 0 : max_rows};
  statuses_ = {carver.Take<OpStatus>(max_rows), memory_ == nullptr ? 0 : max_rows};
  slots_ = {carver.Take<int64_t>(max_slots), memory_ == nullptr ? 0 : max_slots};
  return carver.bytes();
}

}  // namespace kvpage::replay
