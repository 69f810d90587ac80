// SPDX-License-Identifier: Apache-2.0
//
// The report for people.

#include <cstdio>
#include <string>

#include "kvpage/version.h"
#include "tools/replay/report.h"

namespace kvpage::replay {
namespace {

// "1,234,567".
std::string Grouped(uint64_t value) {
  const std::string digits = std::to_string(value);
  std::string text;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string Format(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof(text), format, value);
  return text;
}

std::string Percent(double share) { return Format("%.1f", 100 * share); }

// "3.4 M".
std::string Scaled(double value) {
  if (value >= 1e9) return Format("%.2f G", value / 1e9);
  if (value >= 1e6) return Format("%.2f M", value / 1e6);
  if (value >= 1e3) return Format("%.2f k", value / 1e3);
  return Format("%.2f ", value);
}

double Rate(double amount, double seconds) { return seconds > 0 ? amount / seconds : 0; }

class Table {
 public:
  void Title(const std::string& title) { text_ += title + "\n"; }

  void Line(const std::string& name, const std::string& value, const std::string& unit) {
    char line[256];
    std::snprintf(line, sizeof(line), "  %-24s %14s %s\n", name.c_str(), value.c_str(),
                  unit.c_str());
    text_ += line;
  }
  void Line(const std::string& name, uint64_t value, const std::string& unit) {
    Line(name, Grouped(value), unit);
  }

  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

void AddOperation(const char* name, const OperationStats& stats, Table& table) {
  table.Line(name, Format("%.3f", stats.seconds),
             "s in " + Grouped(stats.calls) + " calls for " + Grouped(stats.rows) + " rows");
}

void AddSetting(const Report& report, Table& table) {
  const Options& options = report.options;
  table.Title("kvpage-replay " + VersionText() + ", " + AbslUnparseFlag(options.backend) +
              " backend, " + std::to_string(report.machine.cpus) + " x " + report.machine.cpu);
  table.Line("workload", report.workload.requests.size(), "requests, " + report.workload.name);
  if (report.workload.skipped_lines > 0) {
    table.Line("skipped", report.workload.skipped_lines, "lines that could not be read");
  }
  table.Line("pool", options.blocks,
             "blocks of " + std::to_string(options.block_tokens) + " tokens");
  table.Line("page table", options.max_rows,
             "rows of " + Grouped(options.cache().max_blocks_per_sequence) + " blocks");
}

void AddTime(const ReplayResult& result, Table& table) {
  const OperationStats operations = result.operations();
  const auto blocks =
      static_cast<double>(result.usage.blocks_allocated() + result.usage.blocks_freed());
  AddOperation("reserve", result.reserves, table);
  AddOperation("append", result.appends, table);
  if (result.drafts.calls > 0) {
    AddOperation("begin draft", result.drafts, table);
    AddOperation("commit draft", result.commits, table);
  }
  AddOperation("close", result.closes, table);
  table.Line("wall time", Format("%.3f", result.wall_seconds), "s for the whole serving");
  table.Line("operations", Scaled(Rate(operations.rows, operations.seconds)),
             "row operations/s of library time");
  table.Line("blocks", Scaled(Rate(blocks, operations.seconds)),
             "allocated + freed/s of library time");
  table.Line("", Scaled(Rate(blocks, result.wall_seconds)), "allocated + freed/s of wall time");
}

}  // namespace

std::string VersionText() {
  return std::to_string(KVPAGE_VERSION_MAJOR) + "." + std::to_string(KVPAGE_VERSION_MINOR) + "." +
         std::to_string(KVPAGE_VERSION_PATCH);
}

std::string TextReport(const Report& report) {
  const ReplayResult& result = report.result;
  const ServingCounts& counts = result.counts;
  const Usage& usage = result.usage;
  Table table;
  AddSetting(report, table);
  table.Title("Requests");
  table.Line("served", counts.served, "requests");
  table.Line("rejected", counts.rejected(),
             "requests (" + Grouped(counts.never_fits) + " NeverFits, " +
                 Grouped(counts.table_full) + " TableFull)");
  table.Line("preemptions", counts.preemptions, "times");
  table.Line("steps", counts.steps, "steps");
  table.Title("Tokens");
  table.Line("prompt", counts.prompt_tokens, "tokens of requests served");
  table.Line("generated", counts.generated_tokens, "tokens of requests served");
  table.Line("recomputed", counts.recomputed_tokens, "tokens lost by preemption");
  if (report.options.serving.speculate > 0) {
    table.Line("drafted", counts.drafted_tokens,
               "tokens guessed in " + Grouped(counts.drafts) + " drafts");
    table.Line("accepted", counts.accepted_tokens, "tokens guessed right");
    table.Line("shrunk drafts", counts.shrunk_drafts, "drafts without a guess: the pool was full");
  }
  table.Title("Pool");
  table.Line("allocated", usage.blocks_allocated(), "blocks");
  table.Line("freed", usage.blocks_freed(), "blocks");
  table.Line("peak occupancy", Percent(usage.peak_occupancy()),
             "% (" + Grouped(usage.peak_blocks()) + " blocks)");
  table.Line("mean occupancy", Percent(usage.mean_occupancy()), "% over the steps");
  table.Line("internal fragmentation", Percent(usage.mean_fragmentation()),
             "% of the held slots are empty, mean over the steps");
  table.Title("Time");
  AddTime(result, table);
  table.Title("Check");
  table.Line("audits", result.audits.count,
             result.audits.clean() ? "all clean" : "the last FAILED: " + result.audits.problem);
  char hash[32];
  std::snprintf(hash, sizeof(hash), "%016llx", static_cast<unsigned long long>(result.state_hash));
  table.Line("state hash", hash, "");
  return table.text();
}

}  // namespace kvpage::replay
