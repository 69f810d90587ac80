// SPDX-License-Identifier: Apache-2.0
//
// The pool under contention in CUDA kernels, by the lanes of a divided warp.

#include "tests/conformance/pool_workload_suite.h"
#include "tests/cuda/cuda_workload_backends.cuh"

namespace kvpage::test {

INSTANTIATE_TYPED_TEST_SUITE_P(CudaCoalesced, PoolUnderContention,
                               CudaWorkloadBackend<CoalescedLanes>);

namespace {

// Groups as a user makes them: whoever comes into a branch together.
struct BranchLanes {
  static constexpr bool kIsWhole = false;
  static uint32_t LanesPerUnit(uint32_t) { return 32; }
  template <class Workload>
  static __device__ void Run(const Workload& workload, uint32_t num_units) {
    const uint32_t unit = WarpOfGrid();
    const uint32_t lane = LaneOfWarp();
    if (unit >= num_units) return;
    if (lane % 3 == 0) {
      CoalescedGroup together;
      workload(together, unit, unit * 32);
    } else {
      CoalescedGroup together;
      workload(together, unit, unit * 32 + 11);
    }
  }
};

using Backend = CudaWorkloadBackend<BranchLanes>;
using World = WorkloadWorld<Backend>;

TEST(CoalescedGroup, LanesThatMeetInABranchGetExactlyTheCapacity) {
  for (const auto& shape : Backend::Shapes()) {
    const uint32_t lanes = shape.units * 32;
    World world(shape, PoolOf(lanes / 2, 64), 0);
    world.Run(Exhaust<World::Site>{world.site(), 0});
    EXPECT_EQ(world.CheckAtRest(lanes / 2), "");
    EXPECT_EQ(world.FindingsSoFar().full, lanes - lanes / 2);
  }
}

TEST(CoalescedGroup, LanesThatMeetInABranchAreNotToldFullWithinBudget) {
  for (const auto& shape : Backend::Shapes()) {
    const uint32_t lanes = shape.units * 32;
    World world(shape, PoolOf(lanes, 64), 0);
    world.Run(Budgets<World::Site>{.site = world.site(),
                                   .rounds = Backend::kRounds,
                                   .gatherers = 0,
                                   .gather_per_lane = 0,
                                   .greedy = 0,
                                   .impossible = lanes});
    EXPECT_EQ(world.CheckAtRest(0), "");
    EXPECT_EQ(world.FindingsSoFar().full, 0u);
    EXPECT_EQ(world.FindingsSoFar().taken, uint64_t{Backend::kRounds} * lanes);
  }
}

}  // namespace
}  // namespace kvpage::test
