// SPDX-License-Identifier: Apache-2.0
//
// Flags by name, through Abseil's reflection.

#include "tools/replay/command_line.h"

#include <algorithm>
#include <string_view>

#include "absl/flags/commandlineflag.h"
#include "absl/flags/reflection.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace kvpage::replay {
namespace {

constexpr std::string_view kIntroduction =
    R"(kvpage-replay: serves requests with a kvpage cache, as an inference server would, and reports
what the cache did. No model is run and no GPU is needed: only blocks and page tables move.

Requests are admitted first come, first served; prompts are computed in chunks, running requests
get one token a step, and when the pool is full the youngest is preempted and starts again later.
With --speculate, a request gets one token a step and those that were guessed right.
Time is not simulated: arrival times give the order of the requests and nothing else.

Examples:
  kvpage-replay                                       a synthetic workload, in a second or so
  kvpage-replay --blocks=100000                       in a pool that is never full
  kvpage-replay --trace=trace.jsonl --blocks=65536    a recorded trace
  kvpage-replay --speculate=4 --accept=0.7            with drafts of four guessed tokens
  kvpage-replay --backend=cuda --json=report.json     on a GPU, report as JSON too

Exit code: 0 all requests served or rejected and the audit is clean; 1 the cache failed or the audit
found an error; 2 wrong flags or a trace that cannot be read.
)";

struct FlagGroup {
  const char* title;
  std::initializer_list<const char*> flags;
};

const FlagGroup kFlagGroups[] = {
    {"Requests", {"trace", "format", "limit", "strict", "requests", "seed"}},
    {"Cache", {"backend", "blocks", "block_tokens", "max_rows", "max_tokens_per_row"}},
    {"Serving", {"step_tokens", "chunk_tokens", "admit", "speculate", "accept"}},
    {"Checks and output", {"audit_every", "json", "progress"}},
};

std::string WithUnderscores(std::string_view name) {
  std::string result(name);
  std::replace(result.begin(), result.end(), '-', '_');
  return result;
}

std::string WithDashes(std::string_view name) {
  std::string result(name);
  std::replace(result.begin(), result.end(), '_', '-');
  return result;
}

// Appends `text` in lines of up to 100 columns, indented; the first line goes on where it stands.
void AppendWrapped(std::string_view text, std::string& out) {
  constexpr size_t kIndent = 6;
  constexpr size_t kColumns = 100;
  size_t column = kColumns;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (column + 1 + word.size() > kColumns) {
      out += '\n' + std::string(kIndent, ' ');
      column = kIndent;
    } else {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
  }
}

}  // namespace

absl::StatusOr<Command> ParseCommandLine(std::span<const char* const> arguments) {
  const auto wrong = [](const std::string& message) {
    return absl::InvalidArgumentError(message + "; try --help");
  };
  for (size_t i = 0; i < arguments.size(); ++i) {
    std::string_view argument = arguments[i];
    if (argument == "--help" || argument == "-h") return Command::kHelp;
    if (argument == "--version") return Command::kVersion;
    if (!argument.starts_with("--") || argument.size() == 2) {
      return wrong("'" + std::string(argument) + "' is no flag");
    }
    const size_t equals = argument.find('=');
    const std::string name = WithUnderscores(argument.substr(2, equals - 2));
    absl::CommandLineFlag* flag = absl::FindCommandLineFlag(name);
    std::string value;
    if (equals != argument.npos) {
      value = argument.substr(equals + 1);
    } else if (flag != nullptr && flag->IsOfType<bool>()) {
      value = "true";
    } else if (flag == nullptr && name.starts_with("no")) {
      flag = absl::FindCommandLineFlag(name.substr(2));
      if (flag != nullptr && !flag->IsOfType<bool>()) flag = nullptr;
      value = "false";
    } else if (flag != nullptr) {
      if (++i == arguments.size()) return wrong(std::string(argument) + " needs a value");
      value = arguments[i];
    }
    if (flag == nullptr) return wrong("there is no flag --" + WithDashes(name));
    std::string error;
    if (!flag->ParseFrom(value, &error)) {
      // Abseil's words end in what the flag's own type has to say, if it says anything.
      const size_t reason = error.rfind("; ");
      return wrong("--" + WithDashes(name) + " cannot be '" + value + "'" +
                   (reason == error.npos ? "" : error.substr(reason)));
    }
  }
  return Command::kRun;
}

std::string HelpText() {
  std::string text(kIntroduction);
  for (const FlagGroup& group : kFlagGroups) {
    text += std::string("\n") + group.title + ":\n";
    for (const char* name : group.flags) {
      const absl::CommandLineFlag* flag = absl::FindCommandLineFlag(name);
      const std::string value = flag->DefaultValue();
      text += "  --" + WithDashes(name);
      text += value.empty() ? "=..." : "=" + value;
      AppendWrapped(flag->Help(), text);
      text += '\n';
    }
  }
  text += "\n  --help, --version\n";
  return text;
}

}  // namespace kvpage::replay
