// SPDX-License-Identifier: Apache-2.0
//
// tools/replay/machine.h
//
// Which machine the numbers of a report are from.

#ifndef KVPAGE_TOOLS_REPLAY_MACHINE_H_
#define KVPAGE_TOOLS_REPLAY_MACHINE_H_

#include <istream>
#include <string>

namespace kvpage::replay {

struct Machine {
  std::string cpu;  // its model
  unsigned cpus = 0;
};

Machine ThisMachine();

// The model of the first CPU in text like that of /proc/cpuinfo; "unknown" if there is none.
std::string CpuModel(std::istream& cpuinfo);

}  // namespace kvpage::replay

#endif  // KVPAGE_TOOLS_REPLAY_MACHINE_H_
