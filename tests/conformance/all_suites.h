// SPDX-License-Identifier: Apache-2.0
//
// tests/conformance/all_suites.h
//
// Every conformance suite for one backend: KVPAGE_RUN_CONFORMANCE(Cpu, CpuBackend); at namespace
// scope, in a file of its own for each backend.

#ifndef KVPAGE_TESTS_CONFORMANCE_ALL_SUITES_H_
#define KVPAGE_TESTS_CONFORMANCE_ALL_SUITES_H_

#include "tests/conformance/append_suite.h"
#include "tests/conformance/audit_suite.h"
#include "tests/conformance/batch_suite.h"
#include "tests/conformance/block_list_suite.h"
#include "tests/conformance/close_suite.h"
#include "tests/conformance/commit_suite.h"
#include "tests/conformance/copy_blocks_suite.h"
#include "tests/conformance/copy_on_write_suite.h"
#include "tests/conformance/draft_suite.h"
#include "tests/conformance/export_suite.h"
#include "tests/conformance/fence_suite.h"
#include "tests/conformance/fork_suite.h"
#include "tests/conformance/mirror_suite.h"
#include "tests/conformance/reserve_suite.h"
#include "tests/conformance/scenario_suite.h"
#include "tests/conformance/speculation_scenario_suite.h"
#include "tests/conformance/state_hash_suite.h"
#include "tests/conformance/tree_suite.h"
#include "tests/conformance/truncate_suite.h"

#define KVPAGE_RUN_CONFORMANCE(NAME, BACKEND)                  \
  INSTANTIATE_TYPED_TEST_SUITE_P(NAME, Append, BACKEND);       \
  INSTANTIATE_TYPED_TEST_SUITE_P(NAME, AuditReports, BACKEND); \
  INSTANTIATE_TYPED_TEST_SUITE_P(NAME, Batch, BACKEND);        \
  INSTANTIATE_TYPED_TEST_SUITE_P(NAME, BeginDraft, BACKEND);   \
  INSTANTIATE_TYPED_TEST_SUITE_P(NAME, BlockList, BACKEND);    \
  INSTANTIATE_TYPED_TEST_SUITE_P(NAME, Close, BACKEND);        \
  INSTANTIATE_TYPED_TEST_SUITE_P(NAME, CommitDraft, BACKEND);  \
  INSTANTIATE_TYPED_TEST_SUITE_P(NAME, CopyBlocks, BACKEND);   \
  INSTANTIATE_TYPED_TEST_SUITE_P(NAME, CopyOnWrite, BACKEND);  \
  INSTANTIATE_TYPED_TEST_SUITE_P(NAME, Exports, BACKEND);      \
  INSTANTIATE_TYPED_TEST_SUITE_P(NAME, Fences, BACKEND);       \
  INSTANTIATE_TYPED_TEST_SUITE_P(NAME, Fork, BACKEND);         \
  INSTANTIATE_TYPED_TEST_SUITE_P(NAME, Mirror, BACKEND);       \
  INSTANTIATE_TYPED_TEST_SUITE_P(NAME, Reserve, BACKEND);      \
  INSTANTIATE_TYPED_TEST_SUITE_P(NAME, Scenario, BACKEND);     \
  INSTANTIATE_TYPED_TEST_SUITE_P(NAME, Speculation, BACKEND);  \
  INSTANTIATE_TYPED_TEST_SUITE_P(NAME, StateHash, BACKEND);    \
  INSTANTIATE_TYPED_TEST_SUITE_P(NAME, Tree, BACKEND);         \
  INSTANTIATE_TYPED_TEST_SUITE_P(NAME, Truncate, BACKEND)

#endif  // KVPAGE_TESTS_CONFORMANCE_ALL_SUITES_H_
