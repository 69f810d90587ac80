// SPDX-License-Identifier: Apache-2.0
//
// src/default_memory.h
//
// The memory resource of owners that were given none. It has no state.

#ifndef KVPAGE_SRC_DEFAULT_MEMORY_H_
#define KVPAGE_SRC_DEFAULT_MEMORY_H_

#include "kvpage/memory_resource.h"

namespace kvpage {

inline HostMemoryResource& DefaultHostMemory() {
  static HostMemoryResource resource;
  return resource;
}

}  // namespace kvpage

#endif  // KVPAGE_SRC_DEFAULT_MEMORY_H_
