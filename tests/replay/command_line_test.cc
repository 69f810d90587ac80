// SPDX-License-Identifier: Apache-2.0

#include "tools/replay/command_line.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/flags/commandlineflag.h"
#include "absl/flags/reflection.h"

#include "tools/replay/options.h"

namespace kvpage::replay {
namespace {

class CommandLineTest : public testing::Test {
 protected:
  static std::string ErrorOf(const std::vector<const char*>& arguments) {
    const auto command = ParseCommandLine(arguments);
    if (!command.ok()) return std::string(command.status().message());
    const auto options = OptionsFromFlags();
    return options.ok() ? "" : std::string(options.status().message());
  }

  static Options OptionsOf(const std::vector<const char*>& arguments) {
    const auto command = ParseCommandLine(arguments);
    EXPECT_TRUE(command.ok() && *command == Command::kRun);
    const auto options = OptionsFromFlags();
    EXPECT_TRUE(options.ok());
    return options.ok() ? *options : Options();
  }

 private:
  absl::FlagSaver saver_;
};

TEST_F(CommandLineTest, UnderstandsEveryWayToWriteAFlag) {
  EXPECT_EQ(OptionsOf({}).max_rows, 256u);
  EXPECT_EQ(OptionsOf({"--max-rows=8"}).max_rows, 8u);
  EXPECT_EQ(OptionsOf({"--max_rows=9"}).max_rows, 9u);
  EXPECT_EQ(OptionsOf({"--max-rows", "10", "--blocks=11"}).blocks, 11u);
  EXPECT_EQ(OptionsOf({}).max_rows, 10u);
  EXPECT_TRUE(OptionsOf({"--strict"}).trace.strict);
  EXPECT_FALSE(OptionsOf({"--nostrict"}).trace.strict);
  EXPECT_TRUE(OptionsOf({"--strict=true"}).trace.strict);
}

TEST_F(CommandLineTest, PutsEachFlagInItsPlace) {
  const Options options =
      OptionsOf({"--backend=cuda", "--blocks=1", "--block-tokens=2", "--max-rows=3",
                 "--max-tokens-per-row=5", "--chunk-tokens=6", "--step-tokens=7", "--admit=chunk",
                 "--trace=t", "--format=azure", "--limit=8", "--speculate=12", "--accept=0.25",
                 "--requests=9", "--seed=10", "--audit-every=11", "--json=j", "--progress=off"});
  EXPECT_EQ(options.backend, BackendKind::kCuda);
  EXPECT_EQ(options.cache().num_blocks, 1u);
  EXPECT_EQ(options.cache().block_tokens, 2u);
  EXPECT_EQ(options.cache().max_sequences, 3u);
  EXPECT_EQ(options.cache().max_blocks_per_sequence, 3u);  // 5 tokens in blocks of 2
  EXPECT_EQ(options.serving.chunk_tokens, 6u);
  EXPECT_EQ(options.serving.step_tokens, 7u);
  EXPECT_EQ(options.serving.admission, Admission::kChunk);
  EXPECT_EQ(options.serving.speculate, 12u);
  EXPECT_EQ(options.serving.accept, 0.25);
  EXPECT_EQ(options.serving.seed, 10u);
  EXPECT_EQ(options.cache().max_draft_tokens, 13u);
  EXPECT_EQ(options.trace.name, "t");
  EXPECT_EQ(options.trace.format, TraceFormat::kAzure);
  EXPECT_EQ(options.trace.limit, 8u);
  EXPECT_EQ(options.requests, 9u);
  EXPECT_EQ(options.seed, 10u);
  EXPECT_EQ(options.audit_every, 11u);
  EXPECT_EQ(options.json, "j");
  EXPECT_EQ(options.progress, ProgressMode::kOff);
}

TEST_F(CommandLineTest, SaysWhatIsWrongInOneLine) {
  EXPECT_EQ(ErrorOf({"trace.csv"}), "'trace.csv' is no flag; try --help");
  EXPECT_EQ(ErrorOf({"--"}), "'--' is no flag; try --help");
  EXPECT_EQ(ErrorOf({"--no-such-flag=1"}), "there is no flag --no-such-flag; try --help");
  EXPECT_EQ(ErrorOf({"--noblocks"}), "there is no flag --noblocks; try --help");
  EXPECT_EQ(ErrorOf({"--max-rows"}), "--max-rows needs a value; try --help");
  EXPECT_EQ(ErrorOf({"--max-rows=many"}), "--max-rows cannot be 'many'; try --help");
  EXPECT_EQ(ErrorOf({"--max-rows=-1"}), "--max-rows cannot be '-1'; try --help");
  EXPECT_EQ(ErrorOf({"--backend=tpu"}),
            "--backend cannot be 'tpu'; it must be cpu|cuda; try --help");
}

TEST_F(CommandLineTest, RefusesNumbersOutOfRange) {
  for (const char* name : {"--blocks", "--block-tokens", "--max-rows", "--max-tokens-per-row",
                           "--step-tokens", "--chunk-tokens", "--requests"}) {
    const absl::FlagSaver saver;
    const std::string argument = std::string(name) + "=0";
    EXPECT_EQ(ErrorOf({argument.c_str()}).find(std::string(name) + " must be from 1 to"), 0u)
        << name;
  }
  for (const char* argument : {"--blocks=2000000000", "--speculate=1001", "--accept=1.01",
                               "--accept=-0.1", "--accept=nan"}) {
    const absl::FlagSaver saver;
    EXPECT_NE(ErrorOf({argument}), "") << argument;
  }
  EXPECT_EQ(OptionsOf({}).cache().max_draft_tokens, 0u);
}

TEST_F(CommandLineTest, HelpAndVersionAreCommands) {
  EXPECT_EQ(*ParseCommandLine(std::vector{"--blocks=7", "--help"}), Command::kHelp);
  EXPECT_EQ(*ParseCommandLine(std::vector{"-h"}), Command::kHelp);
  EXPECT_EQ(*ParseCommandLine(std::vector{"--version"}), Command::kVersion);
}

TEST_F(CommandLineTest, HelpNamesEveryFlagAndFitsTheTerminal) {
  const std::string help = HelpText();
  int flags = 0;
  for (const auto& [name, flag] : absl::GetAllFlags()) {
    if (flag->Filename().find("tools/replay/") == std::string::npos) continue;
    std::string dashed(name);
    std::replace(dashed.begin(), dashed.end(), '_', '-');
    EXPECT_NE(help.find("  --" + dashed + "="), std::string::npos) << dashed;
    ++flags;
  }
  EXPECT_GE(flags, 17);
  size_t start = 0;
  for (size_t end; (end = help.find('\n', start)) != std::string::npos; start = end + 1) {
    EXPECT_LE(end - start, 100u) << help.substr(start, end - start);
  }
}

}  // namespace
}  // namespace kvpage::replay
