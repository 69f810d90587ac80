// SPDX-License-Identifier: Apache-2.0
//
// kvpage-replay: see --help.

#include <fstream>
#include <iostream>
#include <span>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tools/replay/command_line.h"
#include "tools/replay/machine.h"
#include "tools/replay/options.h"
#include "tools/replay/replay.h"
#include "tools/replay/report.h"
#include "tools/replay/synthetic.h"
#include "tools/replay/trace_reader.h"

namespace kvpage::replay {
namespace {

constexpr int kFailed = 1;
constexpr int kWrongUse = 2;

int Complain(int exit_code, const absl::Status& status) {
  std::cerr << "kvpage-replay: " << std::string(status.message()) << "\n";
  return exit_code;
}

absl::StatusOr<Workload> LoadWorkload(const Options& options) {
  if (options.trace.name.empty()) return MakeSyntheticWorkload(options.requests, options.seed);
  return ReadTraceFile(options.trace, std::cerr);
}

int Run(const Options& options) {
  // Opened before the work begins, so that a wrong name costs nothing.
  std::ofstream json;
  if (!options.json.empty()) {
    json.open(options.json);
    if (!json) {
      return Complain(kWrongUse, absl::NotFoundError(options.json + ": cannot be written"));
    }
  }
  absl::StatusOr<Workload> workload = LoadWorkload(options);
  if (!workload.ok()) return Complain(kWrongUse, workload.status());
  absl::StatusOr<Backend> backend = CreateBackend(options.backend, options.cache());
  if (!backend.ok()) return Complain(kWrongUse, backend.status());

  absl::StatusOr<ReplayResult> result = [&] {
    Progress progress(WantsProgress(options.progress) ? &std::cerr : nullptr,
                      workload->requests.size());
    return Replay(*backend, *workload,
                  {.serving = options.serving, .audit_every = options.audit_every}, progress);
  }();
  if (!result.ok()) return Complain(kFailed, result.status());

  const Report report{options, *workload, *result, ThisMachine()};
  std::cout << TextReport(report) << std::flush;
  if (json.is_open()) {
    json << JsonReport(report) << std::flush;
    if (!json) return Complain(kFailed, absl::DataLossError(options.json + ": not written"));
  }
  if (!result->audits.clean()) {
    return Complain(kFailed, absl::InternalError("the audit failed: " + result->audits.problem));
  }
  return 0;
}

int Main(std::span<const char* const> arguments) {
  absl::StatusOr<Command> command = ParseCommandLine(arguments);
  if (!command.ok()) return Complain(kWrongUse, command.status());
  if (*command == Command::kHelp) {
    std::cout << HelpText();
    return 0;
  }
  if (*command == Command::kVersion) {
    std::cout << "kvpage-replay " << VersionText() << "\n";
    return 0;
  }
  absl::StatusOr<Options> options = OptionsFromFlags();
  if (!options.ok()) return Complain(kWrongUse, options.status());
  return Run(*options);
}

}  // namespace
}  // namespace kvpage::replay

int main(int argc, char** argv) {
  return kvpage::replay::Main({argv + 1, static_cast<size_t>(argc > 0 ? argc - 1 : 0)});
}
