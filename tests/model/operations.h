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

struct BeginDraftOperation {
  static constexpr const char* kName = "BeginDraft";
  Rows rows;
  Tokens tokens;
  Branches branches;
  RowSettings settings;

  template <class Target>
  RowResults Perform(Target& target) const {
    return target.BeginDraft(rows, tokens, branches, settings);
  }
};

struct CommitDraftOperation {
  static constexpr const char* kName = "CommitDraft";
  Rows rows;
  Tokens tokens;
  Branches branches;
  RowSettings settings;

  template <class Target>
  RowResults Perform(Target& target) const {
    return {.statuses = target.CommitDraft(rows, tokens, branches, settings),
            .slots = {},
            .copies = {}};
  }
};

struct AbortDraftOperation {
  static constexpr const char* kName = "AbortDraft";
  Rows rows;
  RowSettings settings;

  template <class Target>
  RowResults Perform(Target& target) const {
    return {.statuses = target.AbortDraft(rows, settings), .slots = {}, .copies = {}};
  }
};

struct CompactDraftOperation {
  static constexpr const char* kName = "CompactDraft";
  Rows rows;
  Tokens tokens;
  Trees trees;
  RowSettings settings;

  template <class Target>
  RowResults Perform(Target& target) const {
    return target.CompactDraft(rows, tokens, trees, settings);
  }
};

struct SignalOperation {
  static constexpr const char* kName = "Signal";
  uint64_t epoch = 0;
  bool in_memory = false;

  template <class Target>
  RowResults Perform(Target& target) const {
    RowResults results;
    if (in_memory) {
      results.slots = {static_cast<int64_t>(target.SignalNext(epoch))};
    } else {
      target.Signal(epoch);
    }
    return results;
  }
};

struct PollOperation {
  static constexpr const char* kName = "Poll";

  template <class Target>
  RowResults Perform(Target& target) const {
    target.Poll();
    return {};
  }
};

using Operation = std::variant<ReserveOperation, AppendOperation, TruncateOperation, CloseOperation,
                               ForkOperation, ShareOperation, ReleaseOperation, BeginDraftOperation,
                               CommitDraftOperation, AbortDraftOperation, CompactDraftOperation,
                               SignalOperation, PollOperation>;

template <class Target>
RowResults Perform(const Operation& operation, Target& target) {
  return std::visit([&](const auto& o) { return o.Perform(target); }, operation);
}

std::string Describe(const Operation& operation);
std::string Describe(const RowResults& results);

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_MODEL_OPERATIONS_H_
