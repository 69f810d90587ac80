// SPDX-License-Identifier: Apache-2.0
//
// tests/model/model_suite.h
//
// Random operations on a cache and on the model of it: after each one the results, the whole state
// and the audit must be what the model says. Written once for every backend
// (tests/support/backend.h). A failure names the seed, the step and the operation.

#ifndef KVPAGE_TESTS_MODEL_MODEL_SUITE_H_
#define KVPAGE_TESTS_MODEL_MODEL_SUITE_H_

#include <gtest/gtest.h>

#include <string>

#include "tests/model/random_operations.h"
#include "tests/support/backend.h"
#include "tests/support/test_seed.h"

namespace kvpage::test {

// What the audit says is wrong; empty if nothing is.
inline std::string AuditAgainst(CacheDriver& driver, const CacheModel& model) {
  const AuditReport report = driver.Audit();
  if (!report.ok()) return "the audit finds an error";
  if (report.free_blocks != model.free_ids().size()) return "the audit counts other free blocks";
  if (report.pending_blocks != model.pending().size()) return "the audit counts other pending ones";
  if (report.outside_blocks != model.outside().size()) return "the audit counts other holders";
  return "";
}

// Returns what is wrong; empty if nothing is.
template <class Backend>
std::string PlayAgainstModel(uint64_t seed, const KvCacheOptions& options, uint32_t steps) {
  Random random(seed);
  CacheModel model(options);
  CacheDriver driver = Drive<Backend>(options, seed);
  for (uint32_t step = 0; step < steps; ++step) {
    const Operation operation = RandomOperation(random, model);
    const RowResults expected = Perform(operation, model);
    const RowResults results = Perform(operation, driver);
    std::string wrong;
    if (results != expected) {
      wrong = Describe(results) + "\nexpected: " + Describe(expected);
    }
    if (wrong.empty()) wrong = Difference(driver.Snapshot(), model.Snapshot());
    if (wrong.empty()) wrong = AuditAgainst(driver, model);
    if (wrong.empty() && !testing::Test::HasFailure()) continue;
    return "step " + std::to_string(step) + ", " + std::to_string(options.num_blocks) +
           " blocks of " + std::to_string(options.block_tokens) + ", " +
           std::to_string(options.max_sequences) + " rows of " +
           std::to_string(options.max_blocks_per_sequence) + ": " + Describe(operation) +
           "\nis: " + wrong;
  }
  return "";
}

template <class Backend>
class Model : public testing::Test {};

TYPED_TEST_SUITE_P(Model);

TYPED_TEST_P(Model, PredictsEveryResultOfRandomOperations) {
  const uint32_t runs = RunsOfSteps(TypeParam::kModelRuns, TypeParam::kModelSteps);
  ForEachSeed(runs, [](uint64_t seed) {
    return PlayAgainstModel<TypeParam>(seed, RandomOptions(seed), TypeParam::kModelSteps);
  });
}

REGISTER_TYPED_TEST_SUITE_P(Model, PredictsEveryResultOfRandomOperations);

// The same where batches have thousands of rows and the pool has many shards.
template <class Backend>
class LargeModel : public testing::Test {};

TYPED_TEST_SUITE_P(LargeModel);
// Not for backends with emulated lanes: they would take minutes.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(LargeModel);

TYPED_TEST_P(LargeModel, PredictsEveryResultOfRandomOperations) {
  ForEachSeed(
      3, [](uint64_t seed) { return PlayAgainstModel<TypeParam>(seed, LargeOptions(seed), 40); });
}

REGISTER_TYPED_TEST_SUITE_P(LargeModel, PredictsEveryResultOfRandomOperations);

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_MODEL_MODEL_SUITE_H_
