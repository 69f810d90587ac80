// SPDX-License-Identifier: Apache-2.0
//
// The report for programs.

#include <cstdio>

#include <nlohmann/json.hpp>

#include "tools/replay/report.h"

namespace kvpage::replay {
namespace {

using Json = nlohmann::ordered_json;

Json OptionsObject(const Options& options) {
  return {{"backend", AbslUnparseFlag(options.backend)},
          {"blocks", options.blocks},
          {"block_tokens", options.block_tokens},
          {"max_rows", options.max_rows},
          {"max_tokens_per_row", options.max_tokens_per_row},
          {"step_tokens", options.serving.step_tokens},
          {"chunk_tokens", options.serving.chunk_tokens},
          {"admit", AbslUnparseFlag(options.serving.admission)},
          {"speculate", options.serving.speculate},
          {"accept", options.serving.accept},
          {"trace", options.trace.name},
          {"format", AbslUnparseFlag(options.trace.format)},
          {"limit", options.trace.limit},
          {"strict", options.trace.strict},
          {"requests", options.requests},
          {"seed", options.seed},
          {"audit_every", options.audit_every}};
}

Json OperationObject(const OperationStats& stats) {
  return {{"calls", stats.calls}, {"rows", stats.rows}, {"seconds", stats.seconds}};
}

Json TimeObject(const ReplayResult& result) {
  const OperationStats operations = result.operations();
  const auto blocks =
      static_cast<double>(result.usage.blocks_allocated() + result.usage.blocks_freed());
  const auto rate = [](double amount, double seconds) {
    return seconds > 0 ? amount / seconds : 0;
  };
  return {{"reserve", OperationObject(result.reserves)},
          {"append", OperationObject(result.appends)},
          {"close", OperationObject(result.closes)},
          {"library_seconds", operations.seconds},
          {"wall_seconds", result.wall_seconds},
          {"row_operations_per_library_second",
           rate(static_cast<double>(operations.rows), operations.seconds)},
          {"blocks_per_library_second", rate(blocks, operations.seconds)},
          {"blocks_per_wall_second", rate(blocks, result.wall_seconds)}};
}

// What there is to say of drafts.
void AddSpeculation(const ReplayResult& result, Json& object) {
  const ServingCounts& counts = result.counts;
  object["counts"]["drafts"] = counts.drafts;
  object["counts"]["drafted_tokens"] = counts.drafted_tokens;
  object["counts"]["accepted_tokens"] = counts.accepted_tokens;
  object["counts"]["shrunk_drafts"] = counts.shrunk_drafts;
  object["time"]["begin_draft"] = OperationObject(result.drafts);
  object["time"]["commit_draft"] = OperationObject(result.commits);
}

Json CountsObject(const ServingCounts& counts) {
  return {{"steps", counts.steps},
          {"served", counts.served},
          {"rejected", counts.rejected()},
          {"rejected_never_fits", counts.never_fits},
          {"rejected_table_full", counts.table_full},
          {"preemptions", counts.preemptions},
          {"prompt_tokens", counts.prompt_tokens},
          {"generated_tokens", counts.generated_tokens},
          {"recomputed_tokens", counts.recomputed_tokens}};
}

Json UsageObject(const Usage& usage) {
  return {{"blocks_allocated", usage.blocks_allocated()},
          {"blocks_freed", usage.blocks_freed()},
          {"peak_blocks", usage.peak_blocks()},
          {"peak_occupancy", usage.peak_occupancy()},
          {"mean_occupancy", usage.mean_occupancy()},
          {"mean_internal_fragmentation", usage.mean_fragmentation()}};
}

Json AuditObject(const AuditLog& audits) {
  const AuditReport& audit = audits.last;
  return {{"clean", audits.clean()},
          {"problem", audits.problem},
          {"audits", audits.count},
          {"num_blocks", audit.num_blocks},
          {"free_blocks", audit.free_blocks},
          {"owned_blocks", audit.owned_blocks},
          {"outside_blocks", audit.outside_blocks},
          {"open_rows", audit.open_rows}};
}

}  // namespace

std::string JsonReport(const Report& report) {
  char hash[32];
  std::snprintf(hash, sizeof(hash), "0x%016llx",
                static_cast<unsigned long long>(report.result.state_hash));
  Json object = {{"kvpage_version", VersionText()},
                 {"machine", {{"cpu", report.machine.cpu}, {"cpus", report.machine.cpus}}},
                 {"options", OptionsObject(report.options)},
                 {"workload",
                  {{"name", report.workload.name},
                   {"requests", report.workload.requests.size()},
                   {"skipped_lines", report.workload.skipped_lines}}},
                 {"counts", CountsObject(report.result.counts)},
                 {"pool", UsageObject(report.result.usage)},
                 {"time", TimeObject(report.result)},
                 {"audit", AuditObject(report.result.audits)},
                 {"state_hash", hash}};
  if (report.options.serving.speculate > 0) AddSpeculation(report.result, object);
  return object.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace kvpage::replay
