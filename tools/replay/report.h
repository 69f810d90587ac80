// SPDX-License-Identifier: Apache-2.0
//
// tools/replay/report.h
//
// The result of a replay, to be read by people or by programs.

#ifndef KVPAGE_TOOLS_REPLAY_REPORT_H_
#define KVPAGE_TOOLS_REPLAY_REPORT_H_

#include <string>

#include "tools/replay/machine.h"
#include "tools/replay/options.h"
#include "tools/replay/replay.h"
#include "tools/replay/request.h"

namespace kvpage::replay {

struct Report {
  const Options& options;
  const Workload& workload;
  const ReplayResult& result;
  Machine machine;
};

std::string VersionText();  // "0.1.0"

// A table with units.
std::string TextReport(const Report& report);

// One JSON object. Seconds, tokens, blocks and shares from 0 to 1; no other units.
std::string JsonReport(const Report& report);

}  // namespace kvpage::replay

#endif  // KVPAGE_TOOLS_REPLAY_REPORT_H_
