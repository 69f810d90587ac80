// SPDX-License-Identifier: Apache-2.0

#include "kvpage/memory_resource.h"

#include <new>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace kvpage {

MemoryResource::~MemoryResource() = default;

absl::StatusOr<void*> HostMemoryResource::Allocate(size_t bytes, size_t alignment) {
  void* memory = ::operator new (bytes, std::align_val_t{alignment}, std::nothrow);
  if (memory == nullptr) {
    return absl::ResourceExhaustedError(
        absl::StrCat("kvpage: no host memory for ", bytes, " bytes"));
  }
  return memory;
}

void HostMemoryResource::Deallocate(void* memory, size_t bytes, size_t alignment) noexcept {
  static_cast<void>(bytes);
  ::operator delete (memory, std::align_val_t{alignment});
}

}  // namespace kvpage
