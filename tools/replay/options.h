// SPDX-License-Identifier: Apache-2.0
//
// tools/replay/options.h
//
// What the flags say, checked.

#ifndef KVPAGE_TOOLS_REPLAY_OPTIONS_H_
#define KVPAGE_TOOLS_REPLAY_OPTIONS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

#include "kvpage/kv_cache.h"
#include "tools/replay/backend.h"
#include "tools/replay/enum_flag.h"
#include "tools/replay/progress.h"
#include "tools/replay/scheduler.h"
#include "tools/replay/trace_reader.h"

namespace kvpage::replay {

template <>
struct EnumWords<BackendKind> {
  static constexpr EnumWord<BackendKind> kWords[] = {{"cpu", BackendKind::kCpu},
                                                     {"cuda", BackendKind::kCuda}};
};

template <>
struct EnumWords<Admission> {
  static constexpr EnumWord<Admission> kWords[] = {{"prompt", Admission::kPrompt},
                                                   {"chunk", Admission::kChunk}};
};

template <>
struct EnumWords<TraceFormat> {
  static constexpr EnumWord<TraceFormat> kWords[] = {{"auto", TraceFormat::kAuto},
                                                     {"mooncake", TraceFormat::kMooncake},
                                                     {"azure", TraceFormat::kAzure}};
};

template <>
struct EnumWords<ProgressMode> {
  static constexpr EnumWord<ProgressMode> kWords[] = {
      {"auto", ProgressMode::kAuto}, {"on", ProgressMode::kOn}, {"off", ProgressMode::kOff}};
};

struct Options {
  BackendKind backend = BackendKind::kCpu;
  uint32_t blocks = 0;
  uint32_t block_tokens = 0;
  uint32_t max_rows = 0;
  uint32_t max_tokens_per_row = 0;

  ServingOptions serving;

  TraceOptions trace;     // trace.name is empty: the synthetic workload
  uint32_t requests = 0;  // of the synthetic workload
  uint64_t seed = 0;

  uint64_t audit_every = 0;  // steps; 0: only at the end
  std::string json;          // file name; empty: none
  ProgressMode progress = ProgressMode::kAuto;

  KvCacheOptions cache() const;
};

// InvalidArgument: flags that make no sense.
absl::StatusOr<Options> OptionsFromFlags();

}  // namespace kvpage::replay

#endif  // KVPAGE_TOOLS_REPLAY_OPTIONS_H_
