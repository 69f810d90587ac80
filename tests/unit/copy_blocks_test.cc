// SPDX-License-Identifier: Apache-2.0
//
// The unit that a copy is made in; copying itself is in tests/conformance.

#include "kvpage/core/copy_blocks.h"

#include <gtest/gtest.h>

namespace kvpage {
namespace {

TEST(CopyUnitBytes, IsTheWidestThatDividesEverything) {
  alignas(16) static char memory[64];
  const KvTensor wide = {.data = memory,
                         .layer_stride = 512,
                         .block_stride = 256,
                         .head_stride = 64,
                         .token_stride = 32,
                         .head_bytes = 32};
  EXPECT_EQ(CopyUnitBytes(wide), 16);
  const auto with = [&](int64_t KvTensor::*member, int64_t value) {
    KvTensor tensor = wide;
    tensor.*member = value;
    return CopyUnitBytes(tensor);
  };
  EXPECT_EQ(with(&KvTensor::layer_stride, 520), 8);
  EXPECT_EQ(with(&KvTensor::block_stride, 260), 4);
  EXPECT_EQ(with(&KvTensor::head_stride, 66), 2);
  EXPECT_EQ(with(&KvTensor::token_stride, 33), 1);
  EXPECT_EQ(with(&KvTensor::head_bytes, 24), 8);
  EXPECT_EQ(with(&KvTensor::layer_stride, 0), 16);
  KvTensor shifted = wide;
  shifted.data = memory + 2;
  EXPECT_EQ(CopyUnitBytes(shifted), 2);
}

}  // namespace
}  // namespace kvpage
