// SPDX-License-Identifier: Apache-2.0

#include "tests/model/operations.h"

#include <gtest/gtest.h>

namespace kvpage::test {
namespace {

using testing::PrintToString;

std::string DescribeFailure(FailureMode failure) {
  return failure == FailureMode::kWholeBatch ? ", whole batch" : "";
}

std::string DescribeFence(uint64_t epoch) {
  return epoch == 0 ? "" : ", fence " + PrintToString(epoch);
}

std::string DescribeSettings(const RowSettings& s) {
  std::string text = DescribeFailure(s.failure) + DescribeFence(s.fence);
  if (s.count) text += ", count " + PrintToString(*s.count);
  if (s.slot_capacity) text += ", slot capacity " + PrintToString(*s.slot_capacity);
  return text + (s.with_copies ? "" : ", no copies");
}

std::string DescribeSettings(const ListSettings& s) {
  std::string text = DescribeFailure(s.failure) + DescribeFence(s.fence);
  if (s.count) text += ", count " + PrintToString(*s.count);
  if (s.generations) text += ", generations " + PrintToString(*s.generations);
  return text;
}

}  // namespace

std::string Describe(const Operation& operation) {
  return std::visit(
      [](const auto& o) {
        std::string text = o.kName;
        if constexpr (requires { o.rows; }) text += " rows " + PrintToString(o.rows);
        if constexpr (requires { o.parents; }) text += ", parents " + PrintToString(o.parents);
        if constexpr (requires { o.tokens; }) text += ", tokens " + PrintToString(o.tokens);
        if constexpr (requires { o.ids; }) text += " ids " + PrintToString(o.ids);
        if constexpr (requires { o.branches; }) text += ", branches " + PrintToString(o.branches);
        if constexpr (requires { o.trees; }) {
          text += ", leaves " + PrintToString(o.trees.leaves);
          text += ", parents " + PrintToString(o.trees.rows);
        }
        if constexpr (requires { o.epoch; }) text += " epoch " + PrintToString(o.epoch);
        if constexpr (requires { o.settings; }) text += DescribeSettings(o.settings);
        return text;
      },
      operation);
}

std::string Describe(const RowResults& results) {
  return "statuses " + PrintToString(results.statuses) + ", slots " + PrintToString(results.slots) +
         ", copies " + PrintToString(results.copies) + ", moves " + PrintToString(results.moves) +
         ", to commit " + PrintToString(results.commit_tokens);
}

}  // namespace kvpage::test
