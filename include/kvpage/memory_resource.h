// SPDX-License-Identifier: Apache-2.0
//
// kvpage/memory_resource.h
//
// Where an owner gets its memory from: two methods to implement. kvpage allocates when an owner is
// created, and in the diagnostics that say so; never in an operation.
//
// Example:
//   class Arena : public kvpage::MemoryResource { ... };
//   auto cache = kvpage::CreateCpuKvCache({.num_blocks = 1024, ..., .memory_resource = &arena});
//
// Thread safety: implementations must allow calls from any thread; a resource outlives what it
// serves. Failure: Allocate answers with a status; nothing is thrown.

#ifndef KVPAGE_MEMORY_RESOURCE_H_
#define KVPAGE_MEMORY_RESOURCE_H_

#include <cstddef>

#include "absl/status/statusor.h"

#include "kvpage/export.h"

namespace kvpage {

class KVPAGE_EXPORT MemoryResource {
 public:
  virtual ~MemoryResource();

  // Memory of at least `bytes` bytes, aligned to `alignment`, a power of two. Accessible to the
  // backend that will use it. ResourceExhausted if there is none.
  virtual absl::StatusOr<void*> Allocate(size_t bytes, size_t alignment) = 0;

  // Gives back what Allocate returned for the same bytes and alignment.
  virtual void Deallocate(void* memory, size_t bytes, size_t alignment) noexcept = 0;
};

// Ordinary memory of the process.
class KVPAGE_EXPORT HostMemoryResource : public MemoryResource {
 public:
  absl::StatusOr<void*> Allocate(size_t bytes, size_t alignment) override;
  void Deallocate(void* memory, size_t bytes, size_t alignment) noexcept override;
};

}  // namespace kvpage

#endif  // KVPAGE_MEMORY_RESOURCE_H_
