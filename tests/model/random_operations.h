// SPDX-License-Identifier: Apache-2.0
//
// tests/model/random_operations.h
//
// Random caches and random operations on them: mostly sensible ones, so that much happens, and some
// of every kind of mistake.

#ifndef KVPAGE_TESTS_MODEL_RANDOM_OPERATIONS_H_
#define KVPAGE_TESTS_MODEL_RANDOM_OPERATIONS_H_

#include "tests/model/cache_model.h"
#include "tests/model/operations.h"
#include "tests/support/random.h"

namespace kvpage::test {

KvCacheOptions RandomOptions(uint64_t seed);
// Thousands of rows, dozens of shards.
KvCacheOptions LargeOptions(uint64_t seed);

// An operation that suits the state of the model. It never releases a reference that a row holds:
// that is misuse which no count can tell from good use.
Operation RandomOperation(Random& random, const CacheModel& model);

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_MODEL_RANDOM_OPERATIONS_H_
