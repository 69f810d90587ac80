// SPDX-License-Identifier: Apache-2.0
//
// tools/replay/synthetic.h
//
// The built-in workload: a chat service with many short and a few long requests. The lengths are
// about log-normal, and the same on every machine and standard library for the same seed.

#ifndef KVPAGE_TOOLS_REPLAY_SYNTHETIC_H_
#define KVPAGE_TOOLS_REPLAY_SYNTHETIC_H_

#include <cstdint>

#include "tools/replay/request.h"

namespace kvpage::replay {

Workload MakeSyntheticWorkload(uint32_t num_requests, uint64_t seed);

}  // namespace kvpage::replay

#endif  // KVPAGE_TOOLS_REPLAY_SYNTHETIC_H_
