// SPDX-License-Identifier: Apache-2.0
//
// tests/support/softmax_backend.h
//
// Where the suites of softmax run (tests/conformance/softmax_*_suite.h): the CPU's functions on
// ordinary memory. cuda_softmax_backend.h is the other.

#ifndef KVPAGE_TESTS_SUPPORT_SOFTMAX_BACKEND_H_
#define KVPAGE_TESTS_SUPPORT_SOFTMAX_BACKEND_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kvpage/softmax.h"

namespace kvpage::test {

struct CpuSoftmax {
  static constexpr bool kOnGpu = false;

  // An array that begins `shift` bytes behind an aligned address.
  class Array {
   public:
    Array(const std::vector<uint8_t>& bytes, size_t shift)
        : shift_(shift), words_(bytes.size() + shift) {
      std::copy(bytes.begin(), bytes.end(), words_.begin() + static_cast<std::ptrdiff_t>(shift));
    }
    void* get() { return words_.data() + shift_; }
    std::vector<uint8_t> Download() const {
      return {words_.begin() + static_cast<std::ptrdiff_t>(shift_), words_.end()};
    }

   private:
    size_t shift_;
    std::vector<uint8_t> words_;
  };

  static absl::Status Run(const DenominatorArgs& args) { return Denominator(args); }
  static absl::Status Softmax(const SoftmaxRowsArgs& args) { return SoftmaxRows(args); }
  static absl::Status LogSoftmax(const SoftmaxRowsArgs& args) { return LogSoftmaxRows(args); }
  static absl::Status Run(const LogSumExpRowsArgs& args) { return LogSumExpRows(args); }
  static absl::Status Run(const MergePairArgs& args) { return MergePair(args); }
  template <class Args>
  static absl::Status RunStates(const Args& args) {
    return MergeStates(args);
  }
};

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_SUPPORT_SOFTMAX_BACKEND_H_
