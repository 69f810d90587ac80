// SPDX-License-Identifier: Apache-2.0
//
// tests/model/operations.h
//
// Operations as values, that can be performed on a model (tests/model/cache_model.h), on a cache of
// any backend (tests/support/cache_driver.h), or printed.

#ifndef KVPAGE_TESTS_MODEL_OPERATIONS_H_
#define KVPAGE_TESTS_MODEL_OPERATIONS_H_

#include <string>
#include <variant>

#include "tests/support/cache_driver.h"

namespace kvpage::test {

struct ReserveOperation {
  static constexpr const char* kName = "Reserve";
  Rows rows;
  Tokens tokens;
  RowSettings settings;

  template <class Target>
  RowResults Perform(Target& target) const {
    return {.statuses = target.Reserve(rows, tokens, settings), .slots = {}, .copies = {}};
  }
};

struct AppendOperation {
  static constexpr const char* kName = "Append";
  Rows rows;
  Tokens tokens;
  RowSettings settings;

  template <class Target>
  RowResults Perform(Target& target) const {
    return target.Append(rows, tokens, settings);
  }
};

struct TruncateOperation {
  static constexpr const char* kName = "Truncate";
  Rows rows;
  Tokens tokens;
  RowSettings settings;

  template <class Target>
  RowResults Perform(Target& target) const {
    return {.statuses = target.Truncate(rows, tokens, settings), .slots = {}, .copies = {}};
  }
};

struct CloseOperation {
  static constexpr const char* kName = "Close";
  Rows rows;
  RowSettings settings;

  template <class Target>
  RowResults Perform(Target& target) const {
    return {.statuses = target.Close(rows, settings), .slots = {}, .copies = {}};
  }
};

struct ForkOperation {
  static constexpr const char* kName = "Fork";
  Rows rows;
  Rows parents;
  Tokens tokens;
  RowSettings settings;

  template <class Target>
  RowResults Perform(Target& target) const {
    return target.Fork(rows, parents, tokens, settings);
  }
};

struct ShareOperation {
  static constexpr const char* kName = "Share";
  Ids ids;
  ListSettings settings;

  template <class Target>
  RowResults Perform(Target& target) const {
    return {.statuses = target.Share(ids, settings), .slots = {}, .copies = {}};
  }
};

struct ReleaseOperation {
  static constexpr const char* kName = "Release";
  Ids ids;
  ListSettings settings;

  template <class Target>
  RowResults Perform(Target& target) const {
    return {.statuses = target.Release(ids, settings), .slots = {}, .copies = {}};
  }
};

using Operation = std::variant<ReserveOperation, AppendOperation, TruncateOperation, CloseOperation,
                               ForkOperation, ShareOperation, ReleaseOperation>;

template <class Target>
RowResults Perform(const Operation& operation, Target& target) {
  return std::visit([&](const auto& o) { return o.Perform(target); }, operation);
}

std::string Describe(const Operation& operation);
std::string Describe(const RowResults& results);

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_MODEL_OPERATIONS_H_
