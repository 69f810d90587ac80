// SPDX-License-Identifier: Apache-2.0
//
// The same operations on a CPU and on a GPU give the same statuses, ids, slots, copies and state,
// id by id: what lets each rank of a server run the allocator for itself.

#include <gtest/gtest.h>

#include <string>

#include "tests/model/random_operations.h"
#include "tests/support/cuda_backend.h"
#include "tests/support/test_seed.h"

namespace kvpage::test {
namespace {

std::string PlayOnBoth(uint64_t seed, const KvCacheOptions& options, uint32_t steps) {
  Random random(seed);
  CacheModel model(options);  // only to choose operations that suit
  CacheDriver cpu = Drive<CpuBackend>(options);
  CacheDriver gpu = Drive<CudaBackend>(options);
  for (uint32_t step = 0; step < steps; ++step) {
    const Operation operation = RandomOperation(random, model);
    Perform(operation, model);
    const RowResults expected = Perform(operation, cpu);
    const RowResults results = Perform(operation, gpu);
    std::string wrong;
    if (results != expected) wrong = Describe(results) + "\nCPU: " + Describe(expected);
    if (wrong.empty()) wrong = Difference(gpu.Snapshot(), cpu.Snapshot());
    if (wrong.empty() && gpu.Hash() != cpu.Hash()) wrong = "the hashes differ";
    if (wrong.empty()) continue;
    return "step " + std::to_string(step) + ": " + Describe(operation) + "\nGPU: " + wrong;
  }
  return "";
}

TEST(CrossBackend, EqualOperationsGiveEqualIdsAndState) {
  ForEachSeed(RunsOfSteps(6, 200),
              [](uint64_t seed) { return PlayOnBoth(seed, RandomOptions(seed), 200); });
}

TEST(CrossBackend, LargeBatchesGiveEqualIdsAndState) {
  ForEachSeed(3, [](uint64_t seed) { return PlayOnBoth(seed, LargeOptions(seed), 40); });
}

}  // namespace
}  // namespace kvpage::test
