// SPDX-License-Identifier: Apache-2.0
//
// tests/conformance/softmax_merge_suite.h
//
// Merges of attention states, on a backend of softmax.

#ifndef KVPAGE_TESTS_CONFORMANCE_SOFTMAX_MERGE_SUITE_H_
#define KVPAGE_TESTS_CONFORMANCE_SOFTMAX_MERGE_SUITE_H_

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/conformance/softmax_merge_fixture.h"

namespace kvpage::test {

TYPED_TEST_SUITE_P(SoftmaxMerge);

TYPED_TEST_P(SoftmaxMerge, SpecialStates) {
  const MergeShape empties = {.plus_inf_is_empty = true};
  this->Check(0, -kInf, 0, -kInf, 0, -kInf);
  this->Check(kNaN, -kInf, kNaN, -kInf, 0, -kInf);
  this->Check(0, -kInf, 2.7, 1.3f, 2.7f, 1.3f);
  this->Check(kNaN, -kInf, 2.7, 1.3f, 2.7f, 1.3f);
  this->Check(kInf, -kInf, 2.7, 1.3f, 2.7f, 1.3f);
  this->Check(1, kNaN, 2, 3, kNaN, kNaN);
  this->Check(1, kNaN, 2, -kInf, kNaN, kNaN);
  this->Check(1, kInf, 2, 3, kNaN, kInf);
  this->Check(1, kInf, 2, 3, 2, 3, empties);
  this->Check(kNaN, kInf, 2, 3, 2, 3, empties);
  this->Check(1, kInf, 2, kInf, 0, -kInf, empties);
  this->Check(1, kInf, 2, kNaN, kNaN, kNaN);
  this->Check(1.5, 200, 7, 40, 1.5, 200);
  this->Check(1.5, 200, kNaN, 40, 1.5, 200);
  this->Check(1.5, -2e5, 2.5, -2e5, 2, -2e5 + std::log(2));
}

TYPED_TEST_P(SoftmaxMerge, BothBases) {
  this->Check(1, 10, 3, 12, 2.7615942, 12.126928);
  this->Check(1, 10, 3, 12, 2.6, 12.321928, {.lse_base = LseBase::kTwo});
  // 3072 tokens and 64 tokens with equal logits: the 64 weigh 2.04 %, in either base.
  this->Check(0, std::log(3072.f), 1, std::log(64.f), 64.0 / 3136, std::log(3136));
  this->Check(0, std::log2(3072.f), 1, std::log2(64.f), 64.0 / 3136, std::log2(3136),
              {.lse_base = LseBase::kTwo});
}

TYPED_TEST_P(SoftmaxMerge, NoStatesAndOneState) {
  const MergeShape s = {.tokens = 3, .heads = 2, .dim = 5};
  const StateRows none = this->Dense(s, 0, {});
  EXPECT_EQ(none.o, std::vector<double>(30, 0));
  EXPECT_EQ(none.lse, std::vector<double>(6, -kInf));
  StateRows one = this->Random(s, 1, 4);
  one.o[3] = -0.0;
  one.lse[5] = -kInf;  // empty: its o does not count
  const StateRows got = this->Dense(s, 1, one);
  EXPECT_TRUE(std::signbit(got.o[3]));
  for (int i = 0; i < 25; ++i) EXPECT_EQ(got.o[i], one.o[i]);
  for (int i = 25; i < 30; ++i) EXPECT_EQ(got.o[i], 0);
  EXPECT_EQ(got.lse, one.lse);
}

TYPED_TEST_P(SoftmaxMerge, PairsOfEveryShapeAndType) {
  for (const int32_t dim : {1, 4, 63, 64, 80, 96, 128, 256, 320}) {
    for (const Dtype in : {Dtype::kF32, Dtype::kF16, Dtype::kBf16}) {
      for (const Dtype out : {Dtype::kF32, Dtype::kF16, Dtype::kBf16}) {
        const MergeShape s = {.tokens = 5, .heads = 3, .dim = dim, .in = in, .out = out};
        const StateRows a = this->Random(s, 1, dim), b = this->Random(s, 1, dim + 1);
        const StateRows got = this->Pair(s, a, b, in == out && dim % 3 == 0);
        for (int64_t t = 0; t < s.tokens; ++t) {
          StateRows both;
          for (const StateRows* r : {&a, &b}) {
            both.o.insert(both.o.end(), r->o.begin() + t * 3 * dim,
                          r->o.begin() + (t + 1) * 3 * dim);
            both.lse.insert(both.lse.end(), r->lse.begin() + t * 3, r->lse.begin() + (t + 1) * 3);
          }
          this->ExpectMerged(s, both, 0, 2, got, t);
        }
      }
    }
  }
}

TYPED_TEST_P(SoftmaxMerge, SkippedTokensAreTheFirstState) {
  const MergeShape s = {.tokens = 4, .heads = 3, .dim = 64};
  StateRows a = this->Random(s, 1, 1);
  const StateRows b = this->Random(s, 1, 2);
  a.lse[3] = kInf;
  for (const bool in_place : {false, true}) {
    const StateRows all = this->Pair(s, a, b);
    const StateRows got = this->Pair(s, a, b, in_place, {0, 1, 0, 1});
    for (int64_t i = 0; i < s.rows(); ++i) {
      const bool skipped = i / 3 % 2 == 1;
      EXPECT_EQ(got.lse[i], skipped ? a.lse[i] : all.lse[i]);
      EXPECT_EQ(got.o[i * 64 + 5], skipped ? a.o[i * 64 + 5] : all.o[i * 64 + 5]);
    }
  }
}

// o [heads, tokens, dim] and lse [heads, tokens]; and elements that are not neighbours.
TYPED_TEST_P(SoftmaxMerge, PairsWithStrides) {
  for (const int64_t element : {1, 3}) {
    const MergeShape s = {.tokens = 4, .heads = 3, .dim = 64};
    const StateRows a = this->Random(s, 1, 1), b = this->Random(s, 1, 2);
    const StateRows want = this->Pair(s, a, b);
    const StateStrides strides = {64 * element, 4 * 64 * element, element, 1, 4};
    const auto moved = [&](const StateRows& r, std::vector<double>& o, std::vector<double>& lse) {
      o.assign(12 * 64 * element, 5);
      lse.assign(12, 5);
      for (int t = 0; t < 4; ++t) {
        for (int h = 0; h < 3; ++h) {
          lse[t + h * 4] = r.lse[t * 3 + h];
          for (int e = 0; e < 64; ++e) {
            o[(t * 64 + h * 4 * 64 + e) * element] = r.o[(t * 3 + h) * 64 + e];
          }
        }
      }
    };
    std::vector<double> o, lse;
    moved(a, o, lse);
    typename TypeParam::Array ao(Encode(Dtype::kF32, o), 0), al(Encode(Dtype::kF32, lse), 0);
    const auto state = [](auto& so, auto& sl, const StateStrides& st) {
      return States{so.get(), static_cast<float*>(sl.get()), st};
    };
    typename TypeParam::Array bo(Encode(Dtype::kF32, b.o), 0), bl(Encode(Dtype::kF32, b.lse), 0);
    const States in_a = state(ao, al, strides), in_b = state(bo, bl, {});
    ASSERT_TRUE(TypeParam::Run(MergePairArgs{.a = {in_a.o, in_a.lse, strides},
                                             .b = {in_b.o, in_b.lse, {}},
                                             .merged = in_a,
                                             .tokens = 4,
                                             .heads = 3,
                                             .dim = 64})
                    .ok());
    moved(want, o, lse);
    const std::vector<double> got = Decode(Dtype::kF32, ao.Download());
    for (size_t i = 0; i < o.size(); ++i) EXPECT_TRUE(IsNear(got[i], o[i], 1e-6, 1e-7));
    const std::vector<double> got_lse = Decode(Dtype::kF32, al.Download());
    for (size_t i = 0; i < 12; ++i) EXPECT_TRUE(IsNear(got_lse[i], lse[i], 1e-6));
  }
}

TYPED_TEST_P(SoftmaxMerge, ListsOfEveryLengthShapeAndType) {
  for (const int32_t k : {2, 3, 4, 5, 8, 9, 31, 32, 33, 64, 100}) {
    for (const int32_t dim : {1, 63, 64, 128, 256}) {
      const Dtype in = k % 3 == 0 ? Dtype::kBf16 : (k % 3 == 1 ? Dtype::kF16 : Dtype::kF32);
      const Dtype out = dim % 3 == 0 ? Dtype::kF32 : in;
      const MergeShape s = {.tokens = 3,
                            .heads = 2,
                            .dim = dim,
                            .in = in,
                            .out = out,
                            .lse_base = k % 2 == 0 ? LseBase::kE : LseBase::kTwo};
      const StateRows states = this->Random(s, k, k + dim);
      const StateRows got = this->Dense(s, k, states);
      for (int64_t t = 0; t < 3; ++t) this->ExpectMerged(s, states, t * k, k, got, t);
      const StateRows csr = this->template Csr<int32_t>(s, {0, k, 2 * k, 3 * k}, states);
      EXPECT_EQ(csr.o, got.o);
      EXPECT_EQ(csr.lse, got.lse);
    }
  }
}

// Lists of different lengths, some empty; a row is the same bits alone as in a batch of any size.
TYPED_TEST_P(SoftmaxMerge, RowsDoNotDependOnTheBatch) {
  MergeShape s = {.tokens = 400, .heads = 4, .dim = 64};
  std::vector<int64_t> indptr = {0};
  for (int t = 0; t < 400; ++t) indptr.push_back(indptr.back() + t % 41);
  MergeShape all = s;
  all.tokens = indptr.back();
  const StateRows states = this->Random(all, 1, 3);
  const StateRows got = this->template Csr<int64_t>(s, indptr, states);
  for (const int t : {0, 1, 2, 17, 40, 399}) {
    const int64_t first = indptr[t], count = indptr[t + 1] - first;
    s.tokens = 1;
    StateRows alone = {{states.o.begin() + first * 256, states.o.begin() + (first + count) * 256},
                       {states.lse.begin() + first * 4, states.lse.begin() + (first + count) * 4}};
    const StateRows one = this->Dense(s, static_cast<int32_t>(count), alone);
    for (int i = 0; i < 256; ++i) EXPECT_EQ(one.o[i], got.o[t * 256 + i]) << t;
    for (int h = 0; h < 4; ++h) EXPECT_EQ(one.lse[h], got.lse[t * 4 + h]);
    if (count > 0) this->ExpectMerged(s, alone, 0, count, one, 0);
  }
}

TYPED_TEST_P(SoftmaxMerge, OnlyTheTokensThatAreMeantAreWritten) {
  const MergeShape s = {.tokens = 4, .heads = 2, .dim = 4};
  const StateRows states = this->Random(s, 2, 3);
  const StateRows all = this->template Csr<int32_t>(s, {0, 2, 4, 6, 8}, states);
  for (const int32_t count : {0, 3, 4, 9}) {
    const StateRows got = this->template Csr<int32_t>(s, {0, 2, 4, 6, 8}, states, count);
    for (int i = 0; i < 8; ++i) EXPECT_EQ(got.lse[i], i / 2 < count ? all.lse[i] : 9);
    for (int i = 0; i < 32; ++i) EXPECT_EQ(got.o[i], i / 8 < count ? all.o[i] : 9);
  }
}

// (a + b) + c and a + (b + c) and all three at once.
TYPED_TEST_P(SoftmaxMerge, OrderHardlyMatters) {
  const MergeShape s = {.tokens = 2, .heads = 2, .dim = 32};
  const StateRows a = this->Random(s, 1, 1), b = this->Random(s, 1, 2), c = this->Random(s, 1, 3);
  const StateRows left = this->Pair(s, this->Pair(s, a, b), c);
  const StateRows right = this->Pair(s, a, this->Pair(s, b, c));
  for (size_t i = 0; i < left.o.size(); ++i) EXPECT_TRUE(IsNear(left.o[i], right.o[i], 1e-6, 2e-7));
}

// A quarter of the rows empty on both sides, a tenth marked by +inf.
TYPED_TEST_P(SoftmaxMerge, ManyEmptyRows) {
  MergeShape s = {.tokens = 100, .heads = 4, .dim = 16, .plus_inf_is_empty = true};
  StateRows a = this->Random(s, 1, 1), b = this->Random(s, 1, 2);
  for (int i = 0; i < 400; ++i) {
    if (i % 4 != 0 && i % 10 != 1) continue;
    a.lse[i] = b.lse[i] = i % 4 == 0 ? -kInf : kInf;
    a.o[i * 16] = b.o[i * 16 + 1] = kNaN;
  }
  const StateRows got = this->Pair(s, a, b);
  for (int i = 0; i < 400; ++i) {
    const bool empty = i % 4 == 0 || i % 10 == 1;
    EXPECT_EQ(got.lse[i] == -kInf, empty);
    for (int e = 0; e < 16; ++e)
      EXPECT_TRUE(empty ? got.o[i * 16 + e] == 0 : got.o[i * 16 + e] != kInf);
    EXPECT_FALSE(std::isnan(got.lse[i]));
  }
}

TYPED_TEST_P(SoftmaxMerge, NothingToDoAndWhatMeansNothing) {
  MergePairArgs pair;
  EXPECT_TRUE(TypeParam::Run(pair).ok());
  EXPECT_TRUE(TypeParam::RunStates(MergeStatesArgs{}).ok());
  EXPECT_TRUE(TypeParam::RunStates(MergeStatesCsrArgs<int32_t>{}).ok());
  const MergeShape s = {.tokens = 2, .heads = 2, .dim = 0};
  const StateRows got = this->Pair(s, {{}, {0, 0, 0, 0}}, {{}, {0, 0, 0, 0}});
  for (const double lse : got.lse) EXPECT_TRUE(IsNear(lse, std::log(2.0), 1e-6));
  using enum absl::StatusCode;
  pair.tokens = -1;
  EXPECT_EQ(TypeParam::Run(pair).code(), kInvalidArgument);
  pair.tokens = pair.heads = pair.dim = 1;
  EXPECT_EQ(TypeParam::Run(pair).code(), kInvalidArgument);
  EXPECT_EQ(TypeParam::RunStates(MergeStatesArgs{.k = -1}).code(), kInvalidArgument);
  EXPECT_EQ(TypeParam::RunStates(MergeStatesArgs{.in = Dtype::kE4m3}).code(), kInvalidArgument);
  EXPECT_EQ(TypeParam::RunStates(MergeStatesArgs{.k = 1, .tokens = 1, .heads = 1, .dim = 1}).code(),
            kInvalidArgument);
}

REGISTER_TYPED_TEST_SUITE_P(SoftmaxMerge, SpecialStates, BothBases, NoStatesAndOneState,
                            PairsOfEveryShapeAndType, SkippedTokensAreTheFirstState,
                            PairsWithStrides, ListsOfEveryLengthShapeAndType,
                            RowsDoNotDependOnTheBatch, OnlyTheTokensThatAreMeantAreWritten,
                            OrderHardlyMatters, ManyEmptyRows, NothingToDoAndWhatMeansNothing);

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_CONFORMANCE_SOFTMAX_MERGE_SUITE_H_
