// SPDX-License-Identifier: Apache-2.0
//
// tests/support/test_seed.h
//
// Where the seeds of the randomised tests come from. The base seed is fixed, so that a run is
// repeatable; KVPAGE_TEST_SEED=<n> replaces it, to replay a failure or to look further. How far the
// model tests look is fixed as well; KVPAGE_TEST_STEPS=<n> has each make n random operations, or a
// few more, so that the last run is a whole one.

#ifndef KVPAGE_TESTS_SUPPORT_TEST_SEED_H_
#define KVPAGE_TESTS_SUPPORT_TEST_SEED_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <string>

namespace kvpage::test {

inline uint64_t BaseSeed() {
  const char* text = std::getenv("KVPAGE_TEST_SEED");
  return text == nullptr ? 1 : std::strtoull(text, nullptr, 0);
}

// How many runs of `steps` steps a test of random operations makes that usually makes `count`.
inline uint32_t RunsOfSteps(uint32_t count, uint32_t steps) {
  const char* text = std::getenv("KVPAGE_TEST_STEPS");
  if (text == nullptr) return count;
  return static_cast<uint32_t>((std::strtoull(text, nullptr, 0) + steps - 1) / steps);
}

// How many seeds to try where `count` is right for a plain build.
inline uint32_t ScaledCount(uint32_t count) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  return count / 20 + 1;
#else
  return count;
#endif
}

// Calls check(seed) for `count` seeds from the base seed on. The check returns what is wrong, empty
// if nothing is; the first seed that fails ends the test and is printed.
template <class Check>
void ForEachSeed(uint32_t count, Check check) {
  const uint64_t base = BaseSeed();
  for (uint64_t i = 0; i < ScaledCount(count); ++i) {
    const std::string failure = check(base + i);
    if (!failure.empty()) {
      FAIL() << failure << "\nreplay with KVPAGE_TEST_SEED=" << base + i;
    }
  }
}

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_SUPPORT_TEST_SEED_H_
