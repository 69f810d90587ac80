// SPDX-License-Identifier: Apache-2.0
//
// tests/support/cuda_softmax_backend.h
//
// The suites of softmax on a GPU: arrays in device memory between guard bytes, calls that are
// waited for. See softmax_backend.h.

#ifndef KVPAGE_TESTS_SUPPORT_CUDA_SOFTMAX_BACKEND_H_
#define KVPAGE_TESTS_SUPPORT_CUDA_SOFTMAX_BACKEND_H_

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kvpage/cuda/softmax.h"

namespace kvpage::test {

struct CudaSoftmax {
  static constexpr bool kOnGpu = true;
  static constexpr size_t kGuard = 256;

  class Array {
   public:
    Array(const std::vector<uint8_t>& bytes, size_t shift)
        : begin_(kGuard + shift), size_(bytes.size()) {
      std::vector<uint8_t> all(begin_ + size_ + kGuard, 0xa5);
      std::copy(bytes.begin(), bytes.end(), all.begin() + static_cast<std::ptrdiff_t>(begin_));
      EXPECT_EQ(cudaMalloc(&memory_, all.size()), cudaSuccess);
      EXPECT_EQ(cudaMemcpy(memory_, all.data(), all.size(), cudaMemcpyHostToDevice), cudaSuccess);
    }
    ~Array() { cudaFree(memory_); }
    Array(const Array&) = delete;
    Array& operator=(const Array&) = delete;

    void* get() { return static_cast<uint8_t*>(memory_) + begin_; }
    // Also looks at the bytes around it.
    std::vector<uint8_t> Download() const {
      std::vector<uint8_t> all(begin_ + size_ + kGuard);
      EXPECT_EQ(cudaMemcpy(all.data(), memory_, all.size(), cudaMemcpyDeviceToHost), cudaSuccess);
      const auto begin = all.begin() + static_cast<std::ptrdiff_t>(begin_);
      const auto end = begin + static_cast<std::ptrdiff_t>(size_);
      const auto is_guard = [](uint8_t byte) { return byte == 0xa5; };
      EXPECT_TRUE(std::all_of(all.begin(), begin, is_guard) &&
                  std::all_of(end, all.end(), is_guard))
          << "written outside of the array";
      return {begin, end};
    }

   private:
    size_t begin_;
    size_t size_;
    void* memory_ = nullptr;
  };

  static StreamRef Stream() { return StreamRef::Default(); }

  static absl::Status Run(const DenominatorArgs& args) {
    // Zero at first, and left zero by every call.
    static Array& workspace = *new Array(std::vector<uint8_t>(DenominatorWorkspaceBytes()), 0);
    return Waited(Denominator(Stream(), args, {workspace.get(), DenominatorWorkspaceBytes()}));
  }
  static absl::Status Softmax(const SoftmaxRowsArgs& args) {
    return Rows(args, [&](Workspace w) { return SoftmaxRows(Stream(), args, w); });
  }
  static absl::Status LogSoftmax(const SoftmaxRowsArgs& args) {
    return Rows(args, [&](Workspace w) { return LogSoftmaxRows(Stream(), args, w); });
  }
  static absl::Status Run(const LogSumExpRowsArgs& args) {
    return Rows(args, [&](Workspace w) { return LogSumExpRows(Stream(), args, w); });
  }
  static absl::Status Run(const MergePairArgs& args) { return Waited(MergePair(Stream(), args)); }
  template <class Args>
  static absl::Status RunStates(const Args& args) {
    return Waited(MergeStates(Stream(), args));
  }

 private:
  template <class Args, class Call>
  static absl::Status Rows(const Args& args, Call call) {
    const size_t bytes = SoftmaxRowsWorkspaceBytes(args.rows, args.cols, args.in);
    Array workspace(std::vector<uint8_t>(bytes, 0x5a), 0);
    const absl::Status status = Waited(call({workspace.get(), bytes}));
    workspace.Download();
    return status;
  }
  static absl::Status Waited(const absl::Status& status) {
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    return status;
  }
};

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_SUPPORT_CUDA_SOFTMAX_BACKEND_H_
