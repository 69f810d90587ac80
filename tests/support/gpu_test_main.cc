// SPDX-License-Identifier: Apache-2.0
//
// tests/support/gpu_test_main.cc
//
// The main of every test with the label gpu. Without a GPU it runs nothing and exits with 77, which
// ctest shows as skipped. With KVPAGE_REQUIRE_GPU=1 a missing GPU, a skipped test, or nothing run
// is a failure, so that a run meant for a GPU cannot silently test nothing.

#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "gtest/gtest.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const char* require = std::getenv("KVPAGE_REQUIRE_GPU");
  const bool required = require != nullptr && std::string_view(require) == "1";

  int devices = 0;
  const cudaError_t error = cudaGetDeviceCount(&devices);
  if (error != cudaSuccess || devices == 0) {
    std::fprintf(stderr, "no GPU: %s\n", cudaGetErrorString(error));
    return required ? 1 : 77;
  }

  const int result = RUN_ALL_TESTS();
  const testing::UnitTest& tests = *testing::UnitTest::GetInstance();
  if (required && (tests.skipped_test_count() > 0 || tests.successful_test_count() == 0)) {
    std::fprintf(stderr, "KVPAGE_REQUIRE_GPU=1, but %d tests were skipped and %d passed\n",
                 tests.skipped_test_count(), tests.successful_test_count());
    return 1;
  }
  return result;
}
