// SPDX-License-Identifier: Apache-2.0
//
// tools/replay/command_line.h
//
// Sets the flags from the command line. Unlike absl::ParseCommandLine it never ends the program, so
// that a wrong flag is one line and exit code 2, and --help is no error. "--max-rows=8",
// "--max_rows 8", "--strict" and "--nostrict" are understood.

#ifndef KVPAGE_TOOLS_REPLAY_COMMAND_LINE_H_
#define KVPAGE_TOOLS_REPLAY_COMMAND_LINE_H_

#include <span>
#include <string>

#include "absl/status/statusor.h"

namespace kvpage::replay {

enum class Command { kRun, kHelp, kVersion };

// `arguments` without the program's name. InvalidArgument: the first thing that is wrong.
absl::StatusOr<Command> ParseCommandLine(std::span<const char* const> arguments);

// What --help prints: what the program is for, examples, and every flag.
std::string HelpText();

}  // namespace kvpage::replay

#endif  // KVPAGE_TOOLS_REPLAY_COMMAND_LINE_H_
