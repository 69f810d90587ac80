// SPDX-License-Identifier: Apache-2.0

#include "kvpage/owned_memory.h"

#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace kvpage {

OwnedMemory::~OwnedMemory() {
  if (resource_ != nullptr) resource_->Deallocate(memory_, bytes_, alignment_);
}

OwnedMemory::OwnedMemory(OwnedMemory&& other) noexcept
    : resource_(std::exchange(other.resource_, nullptr)),
      memory_(std::exchange(other.memory_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      alignment_(other.alignment_) {}

OwnedMemory& OwnedMemory::operator=(OwnedMemory&& other) noexcept {
  std::swap(resource_, other.resource_);
  std::swap(memory_, other.memory_);
  std::swap(bytes_, other.bytes_);
  std::swap(alignment_, other.alignment_);
  return *this;
}

absl::StatusOr<OwnedMemory> OwnedMemory::Allocate(MemoryResource& resource, size_t bytes,
                                                  size_t alignment) {
  absl::StatusOr<void*> memory = resource.Allocate(bytes, alignment);
  if (!memory.ok()) return memory.status();
  OwnedMemory owned;
  owned.resource_ = &resource;
  owned.memory_ = *memory;
  owned.bytes_ = bytes;
  owned.alignment_ = alignment;
  return owned;
}

absl::StatusOr<OwnedMemory> OwnedMemory::Borrow(void* memory, size_t available, size_t bytes,
                                                size_t alignment) {
  if (memory == nullptr || reinterpret_cast<uintptr_t>(memory) % alignment != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("kvpage: memory must be aligned to ", alignment, " bytes"));
  }
  if (available < bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("kvpage: memory has ", available, " bytes, but ", bytes, " are needed"));
  }
  OwnedMemory borrowed;
  borrowed.memory_ = memory;
  borrowed.bytes_ = bytes;
  borrowed.alignment_ = alignment;
  return borrowed;
}

}  // namespace kvpage
