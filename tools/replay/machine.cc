// SPDX-License-Identifier: Apache-2.0
//
// Asks Linux.

#include "tools/replay/machine.h"

#include <fstream>
#include <thread>

namespace kvpage::replay {

std::string CpuModel(std::istream& cpuinfo) {
  for (std::string line; std::getline(cpuinfo, line);) {
    if (!line.starts_with("model name")) continue;
    const size_t value = line.find_first_not_of(" \t", line.find(':') + 1);
    if (value != line.npos) return line.substr(value);
  }
  return "unknown";
}

Machine ThisMachine() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  return {.cpu = CpuModel(cpuinfo), .cpus = std::thread::hardware_concurrency()};
}

}  // namespace kvpage::replay
