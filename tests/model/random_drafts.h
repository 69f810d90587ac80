// SPDX-License-Identifier: Apache-2.0
//
// tests/model/random_drafts.h
//
// Random operations on drafts and fences, for random_operations.cc.

#ifndef KVPAGE_TESTS_MODEL_RANDOM_DRAFTS_H_
#define KVPAGE_TESTS_MODEL_RANDOM_DRAFTS_H_

#include "tests/model/cache_model.h"
#include "tests/model/operations.h"
#include "tests/support/random.h"

namespace kvpage::test {

// Begins, commits, aborts or compacts drafts. REQUIRES: the model's options allow drafts.
Operation RandomDraft(Random& random, const CacheModel& model);
// Signals an epoch, in order or not, or polls. REQUIRES: they allow fences.
Operation RandomSignal(Random& random, const CacheModel& model);

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_MODEL_RANDOM_DRAFTS_H_
