// SPDX-License-Identifier: Apache-2.0
//
// kvpage/owned_memory.h
//
// OwnedMemory holds one allocation of a MemoryResource and gives it back; or holds memory that is
// the caller's, and does not. Movable, not copyable. Not thread-safe.

#ifndef KVPAGE_OWNED_MEMORY_H_
#define KVPAGE_OWNED_MEMORY_H_

#include <cstddef>

#include "absl/status/statusor.h"

#include "kvpage/export.h"
#include "kvpage/memory_resource.h"

namespace kvpage {

class KVPAGE_EXPORT OwnedMemory {
 public:
  OwnedMemory() = default;
  ~OwnedMemory();
  OwnedMemory(OwnedMemory&& other) noexcept;
  OwnedMemory& operator=(OwnedMemory&& other) noexcept;

  // Memory from a resource, which must outlive the result. The resource's error, if it refuses.
  static absl::StatusOr<OwnedMemory> Allocate(MemoryResource& resource, size_t bytes,
                                              size_t alignment);

  // The caller's memory. InvalidArgument if it is too small or not aligned.
  static absl::StatusOr<OwnedMemory> Borrow(void* memory, size_t available, size_t bytes,
                                            size_t alignment);

  void* get() const { return memory_; }
  size_t bytes() const { return bytes_; }

 private:
  MemoryResource* resource_ = nullptr;  // null: the memory is the caller's
  void* memory_ = nullptr;
  size_t bytes_ = 0;
  size_t alignment_ = 0;
};

}  // namespace kvpage

#endif  // KVPAGE_OWNED_MEMORY_H_
