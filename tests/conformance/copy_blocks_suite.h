// SPDX-License-Identifier: Apache-2.0
//
// tests/conformance/copy_blocks_suite.h
//
// CopyBlocks: the named token slots move, in every layer and head, and nothing else does.

#ifndef KVPAGE_TESTS_CONFORMANCE_COPY_BLOCKS_SUITE_H_
#define KVPAGE_TESTS_CONFORMANCE_COPY_BLOCKS_SUITE_H_

#include <algorithm>

#include "tests/conformance/fixture.h"

namespace kvpage::test {

inline constexpr int64_t kBlocks = 5;  // block 0 included, so ids 0 .. 4

template <class Backend>
class CopyBlocks : public ConformanceTest<Backend> {
 protected:
  static std::vector<uint8_t> Pattern(size_t bytes) {
    std::vector<uint8_t> pattern(bytes);
    for (size_t i = 0; i < bytes; ++i) pattern[i] = static_cast<uint8_t>(i * 37 + (i >> 8));
    return pattern;
  }

  // Copies in a tensor of kBlocks blocks that begins at byte `shift`, and compares every byte with
  // what a plain loop over layers, heads and tokens gives.
  static void Check(KvTensor tensor, const Copies& list, size_t shift = 0) {
    CacheDriver d = ConformanceTest<Backend>::Make();
    GuardedArena arena(*d.access().shared, 1 << 16);
    const int64_t layers = tensor.num_layers * tensor.layer_stride;
    const size_t bytes = static_cast<size_t>(std::max(kBlocks * tensor.block_stride, layers));
    const std::vector<uint8_t> before = Pattern(bytes + shift);
    std::vector<uint8_t> expected = before;
    for (const BlockCopy& copy : list) {
      if (copy.dst == kNullBlock) continue;
      for (int64_t l = 0; l < tensor.num_layers; ++l) {
        for (int64_t h = 0; h < tensor.num_heads; ++h) {
          for (int64_t t = 0; t < copy.tokens; ++t) {
            const int64_t at = static_cast<int64_t>(shift) + l * tensor.layer_stride +
                               h * tensor.head_stride + t * tensor.token_stride;
            std::copy_n(before.begin() + at + copy.src * tensor.block_stride, tensor.head_bytes,
                        expected.begin() + at + copy.dst * tensor.block_stride);
          }
        }
      }
    }
    uint8_t* const data = arena.Take(before);
    tensor.data = data + shift;
    const absl::Status status = d.cache().CopyBlocks(
        d.stream(), arena.Take(list), static_cast<int32_t>(list.size()), {&tensor, 1});
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_TRUE(d.cache().Synchronize(d.stream()).ok());
    EXPECT_EQ(std::vector<uint8_t>(data, data + before.size()), expected);
    EXPECT_TRUE(arena.Reset()) << "bytes beside the tensor have changed";
  }
};

TYPED_TEST_SUITE_P(CopyBlocks);

TYPED_TEST_P(CopyBlocks, TokensThenHeads) {
  // [blocks][tokens][heads * dimension]
  this->Check({.block_stride = 4 * 48, .token_stride = 48, .head_bytes = 48}, {{1, 2, 3}});
}

TYPED_TEST_P(CopyBlocks, HeadsThenTokens) {
  // [blocks][heads][tokens][dimension]
  this->Check({.block_stride = 3 * 4 * 16,
               .num_heads = 3,
               .head_stride = 4 * 16,
               .token_stride = 16,
               .head_bytes = 16},
              {{3, 1, 2}, {2, 4, 4}});
}

TYPED_TEST_P(CopyBlocks, KeysAndValuesOfSeveralLayersInOneTensor) {
  // [layers][blocks][2][heads][tokens][dimension]
  this->Check({.num_layers = 3,
               .layer_stride = kBlocks * 2 * 2 * 4 * 32,
               .block_stride = 2 * 2 * 4 * 32,
               .num_heads = 4,
               .head_stride = 4 * 32,
               .token_stride = 32,
               .head_bytes = 32},
              {{1, 4, 1}, {2, 3, 4}});
}

TYPED_TEST_P(CopyBlocks, LayersInsideABlock) {
  // [blocks][layers][tokens][bytes]
  this->Check({.num_layers = 12,
               .layer_stride = 4 * 8,
               .block_stride = 12 * 4 * 8,
               .token_stride = 8,
               .head_bytes = 8},
              {{4, 1, 3}});
}

TYPED_TEST_P(CopyBlocks, OddSizesOfOneTwoAndFourBytes) {
  this->Check({.block_stride = 4 * 7, .token_stride = 7, .head_bytes = 7}, {{1, 3, 3}});
  this->Check({.block_stride = 4 * 6, .token_stride = 6, .head_bytes = 6}, {{1, 3, 3}});
  this->Check({.block_stride = 4 * 20, .token_stride = 20, .head_bytes = 20}, {{1, 3, 3}});
}

TYPED_TEST_P(CopyBlocks, PaddedStrides) {
  // Bytes between tokens, heads and blocks belong to somebody else.
  this->Check({.block_stride = 200,
               .num_heads = 2,
               .head_stride = 96,
               .token_stride = 24,
               .head_bytes = 16},
              {{2, 1, 4}});
}

TYPED_TEST_P(CopyBlocks, TensorsThatBeginInTheMiddleOfAWord) {
  this->Check({.block_stride = 4 * 16, .token_stride = 16, .head_bytes = 16}, {{1, 2, 4}}, 1);
  this->Check({.block_stride = 4 * 16, .token_stride = 16, .head_bytes = 16}, {{1, 2, 4}}, 4);
}

TYPED_TEST_P(CopyBlocks, EntriesThatAskForNothing) {
  this->Check({.block_stride = 4 * 16, .token_stride = 16, .head_bytes = 16},
              {{1, 0, 4}, {0, 0, 0}, {2, 3, 0}, {4, 1, 1}, {2, 3, -1}});
}

TYPED_TEST_P(CopyBlocks, ManyHeadsOfABlock) {
  // Enough planes for several thread blocks on one entry of the list.
  this->Check({.num_layers = 5,
               .layer_stride = kBlocks * 4 * 4 * 64,
               .block_stride = 4 * 4 * 64,
               .num_heads = 4,
               .head_stride = 4 * 64,
               .token_stride = 64,
               .head_bytes = 64},
              {{1, 2, 4}, {3, 4, 3}});
}

TYPED_TEST_P(CopyBlocks, SeveralTensorsAtOnce) {
  CacheDriver d = this->Make();
  GuardedArena arena(*d.access().shared, 1 << 14);
  const BlockCopy* copies = arena.Take(Copies({{1, 2, 2}}));
  const std::vector<uint8_t> before = this->Pattern(kBlocks * 32);
  std::vector<uint8_t> expected = before;
  std::copy_n(expected.begin() + 32, 16, expected.begin() + 64);
  uint8_t* keys = arena.Take(before);
  uint8_t* values = arena.Take(before);
  const KvTensor tensors[] = {
      {.data = keys, .block_stride = 32, .token_stride = 8, .head_bytes = 8},
      {.data = values, .block_stride = 32, .token_stride = 8, .head_bytes = 8}};
  EXPECT_TRUE(d.cache().CopyBlocks(d.stream(), copies, 1, tensors).ok());
  EXPECT_TRUE(d.cache().Synchronize(d.stream()).ok());
  EXPECT_EQ(std::vector<uint8_t>(keys, keys + before.size()), expected);
  EXPECT_EQ(std::vector<uint8_t>(values, values + before.size()), expected);
  EXPECT_TRUE(arena.Reset());
}

TYPED_TEST_P(CopyBlocks, BadArgumentsAreRefused) {
  CacheDriver d = this->Make();
  GuardedArena arena(*d.access().shared, 1 << 12);
  const BlockCopy* copies = arena.Take(Copies({{1, 2, 2}}));
  const KvTensor good = {.data = arena.Take(std::vector<uint8_t>(kBlocks * 32)),
                         .block_stride = 32,
                         .token_stride = 8,
                         .head_bytes = 8};
  const auto code = [&](const BlockCopy* list, int32_t n, const KvTensor& tensor) {
    return d.cache().CopyBlocks(d.stream(), list, n, {&tensor, 1}).code();
  };
  const auto bad = absl::StatusCode::kInvalidArgument;
  EXPECT_EQ(code(copies, 1, good), absl::StatusCode::kOk);
  EXPECT_EQ(code(nullptr, 0, good), absl::StatusCode::kOk);
  EXPECT_EQ(code(nullptr, 1, good), bad);
  EXPECT_EQ(code(copies, -1, good), bad);
  for (auto spoil : std::vector<void (*)(KvTensor&)>{
           [](KvTensor& t) { t.data = nullptr; }, [](KvTensor& t) { t.num_layers = 0; },
           [](KvTensor& t) { t.num_heads = 0; }, [](KvTensor& t) { t.head_bytes = 0; }}) {
    KvTensor tensor = good;
    spoil(tensor);
    EXPECT_EQ(code(copies, 1, tensor), bad);
  }
  EXPECT_TRUE(d.cache().Synchronize(d.stream()).ok());
}

TYPED_TEST_P(CopyBlocks, CarriesTheCopyListOfAFork) {
  CacheDriver d = this->Make();
  d.Append({0}, {6});
  const RowResults r = d.Fork({1}, {0}, {6});
  this->Check({.block_stride = 4 * 16, .token_stride = 16, .head_bytes = 16}, r.copies);
}

REGISTER_TYPED_TEST_SUITE_P(CopyBlocks, TokensThenHeads, HeadsThenTokens,
                            KeysAndValuesOfSeveralLayersInOneTensor, LayersInsideABlock,
                            OddSizesOfOneTwoAndFourBytes, PaddedStrides,
                            TensorsThatBeginInTheMiddleOfAWord, EntriesThatAskForNothing,
                            ManyHeadsOfABlock, SeveralTensorsAtOnce, BadArgumentsAreRefused,
                            CarriesTheCopyListOfAFork);

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_CONFORMANCE_COPY_BLOCKS_SUITE_H_
