// SPDX-License-Identifier: Apache-2.0
//
// tools/replay/enum_flag.h
//
// Makes an enum the type of a flag: give its words in a specialisation of EnumWords, and include
// this before ABSL_FLAG.
//
// Example:
//   template <> struct EnumWords<Colour> {
//     static constexpr EnumWord<Colour> kWords[] = {{"red", Colour::kRed}, {"blue",
//     Colour::kBlue}};
//   };

#ifndef KVPAGE_TOOLS_REPLAY_ENUM_FLAG_H_
#define KVPAGE_TOOLS_REPLAY_ENUM_FLAG_H_

#include <string>

#include "absl/strings/string_view.h"

namespace kvpage::replay {

template <class E>
struct EnumWord {
  const char* word;
  E value;
};

template <class E>
struct EnumWords;

// "cpu|cuda".
template <class E>
std::string EnumChoices() {
  std::string choices;
  for (const auto& [word, value] : EnumWords<E>::kWords) {
    if (!choices.empty()) choices += '|';
    choices += word;
  }
  return choices;
}

template <class E>
requires(sizeof(EnumWords<E>) > 0) bool AbslParseFlag(absl::string_view text, E* value,
                                                      std::string* error) {
  for (const auto& [word, candidate] : EnumWords<E>::kWords) {
    if (text == word) {
      *value = candidate;
      return true;
    }
  }
  *error = "it must be " + EnumChoices<E>();
  return false;
}

template <class E>
requires(sizeof(EnumWords<E>) > 0) std::string AbslUnparseFlag(E value) {
  for (const auto& [word, candidate] : EnumWords<E>::kWords) {
    if (candidate == value) return word;
  }
  return "unknown";
}

}  // namespace kvpage::replay

#endif  // KVPAGE_TOOLS_REPLAY_ENUM_FLAG_H_
