// SPDX-License-Identifier: Apache-2.0
//
// tests/support/emulated_cluster.h
//
// A cluster of thread blocks as CPU threads: a group that can meet as a whole, by thread block and
// by warp; and a grid of such clusters, which do not meet each other.

#ifndef KVPAGE_TESTS_SUPPORT_EMULATED_CLUSTER_H_
#define KVPAGE_TESTS_SUPPORT_EMULATED_CLUSTER_H_

#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "tests/support/emulated_warp.h"

namespace kvpage::test {

struct ClusterShape {
  uint32_t clusters = 1;
  uint32_t blocks = 1;  // of a cluster
  uint32_t warps = 1;   // of a block

  uint32_t cluster_lanes() const { return blocks * warps * kWarpLanes; }
};

class EmulatedCluster : public EmulatedBlock {
 public:
  // Where a lane is.
  struct Place {
    uint32_t cluster = 0;
    uint32_t block = 0;
    uint32_t warp = 0;
    uint32_t lane = 0;
  };

  EmulatedCluster(const ClusterShape& shape, const Place& place, ThreadTeam& cluster,
                  ThreadTeam& block, ThreadTeam& warp)
      : EmulatedBlock(cluster, warp,
                      (place.block * shape.warps + place.warp) * kWarpLanes + place.lane,
                      place.block * shape.warps + place.warp, 0),
        shape_(shape),
        place_(place),
        own_(block, warp, place.warp * kWarpLanes + place.lane, place.warp, 0) {}

  EmulatedBlock& block() { return own_; }
  uint32_t block_index() const { return place_.block; }
  uint32_t num_blocks() const { return shape_.blocks; }
  uint32_t grid_block() const { return place_.cluster * shape_.blocks + place_.block; }
  uint32_t grid_blocks() const { return shape_.clusters * shape_.blocks; }

 private:
  ClusterShape shape_;
  Place place_;
  EmulatedBlock own_;
};

// Runs body(cluster) in every lane of a grid of clusters.
template <class Body>
void RunClusters(const ClusterShape& shape, Body body) {
  std::vector<std::unique_ptr<ThreadTeam>> teams;
  const auto make = [&](uint32_t lanes) {
    return teams.emplace_back(std::make_unique<ThreadTeam>(lanes)).get();
  };
  std::vector<std::thread> lanes;
  EmulatedCluster::Place place;
  for (place.cluster = 0; place.cluster < shape.clusters; ++place.cluster) {
    ThreadTeam* cluster = make(shape.cluster_lanes());
    for (place.block = 0; place.block < shape.blocks; ++place.block) {
      ThreadTeam* block = make(shape.warps * kWarpLanes);
      for (place.warp = 0; place.warp < shape.warps; ++place.warp) {
        ThreadTeam* warp = make(kWarpLanes);
        for (place.lane = 0; place.lane < kWarpLanes; ++place.lane) {
          lanes.emplace_back([=] {
            EmulatedCluster group(shape, place, *cluster, *block, *warp);
            body(group);
          });
        }
      }
    }
  }
  for (std::thread& lane : lanes) lane.join();
}

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_SUPPORT_EMULATED_CLUSTER_H_
