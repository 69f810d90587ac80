// SPDX-License-Identifier: Apache-2.0
//
// tests/conformance/softmax_merge_fixture.h
//
// Runs merges of attention states on a backend, in every form, and compares them with double.

#ifndef KVPAGE_TESTS_CONFORMANCE_SOFTMAX_MERGE_FIXTURE_H_
#define KVPAGE_TESTS_CONFORMANCE_SOFTMAX_MERGE_FIXTURE_H_

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/conformance/softmax_denominator_suite.h"

namespace kvpage::test {

// o [rows, dim] and lse [rows], where a row is a token and a head.
struct StateRows {
  std::vector<double> o;
  std::vector<double> lse;
};

struct MergeShape {
  int64_t tokens = 1;
  int32_t heads = 1;
  int32_t dim = 1;
  Dtype in = Dtype::kF32;
  Dtype out = Dtype::kF32;
  LseBase lse_base = LseBase::kE;
  bool plus_inf_is_empty = false;

  int64_t rows() const { return tokens * heads; }
};

template <class Backend>
class SoftmaxMerge : public testing::Test {
 protected:
  using Array = typename Backend::Array;

  static StateRows Random(const MergeShape& s, int64_t states, uint64_t seed) {
    kvpage::test::Random random(seed);
    StateRows r;
    for (int64_t i = 0; i < s.tokens * states * s.heads; ++i) {
      r.lse.push_back(random.Below(1 << 16) / 8192.0 - 4);
      for (int e = 0; e < s.dim; ++e) r.o.push_back(random.Below(1 << 16) / 32768.0 - 1);
    }
    r.o = Rounded(s.in, r.o);
    return r;
  }

  static StateRows Pair(const MergeShape& s, const StateRows& a, const StateRows& b,
                        bool in_place = false, const std::vector<uint8_t>& skip = {}) {
    Array ao(Encode(s.in, a.o), 0), al(Encode(Dtype::kF32, a.lse), 0);
    Array bo(Encode(s.in, b.o), 0), bl(Encode(Dtype::kF32, b.lse), 0);
    Array mo(Encode(s.out, std::vector<double>(a.o.size(), 9)), 0);
    Array ml(Encode(Dtype::kF32, std::vector<double>(a.lse.size(), 9)), 0);
    Array mask(skip, 0);
    Array& o = in_place ? ao : mo;
    Array& l = in_place ? al : ml;
    const absl::Status status = Backend::Run(
        MergePairArgs{.a = {ao.get(), static_cast<float*>(al.get()), {}},
                      .b = {bo.get(), static_cast<float*>(bl.get()), {}},
                      .merged = {o.get(), static_cast<float*>(l.get()), {}},
                      .in = s.in,
                      .out = s.out,
                      .tokens = s.tokens,
                      .heads = s.heads,
                      .dim = s.dim,
                      .lse_base = s.lse_base,
                      .plus_inf_is_empty = s.plus_inf_is_empty,
                      .skip_tokens = skip.empty() ? nullptr : static_cast<uint8_t*>(mask.get())});
    EXPECT_TRUE(status.ok()) << status;
    return {Decode(s.out, o.Download()), Decode(Dtype::kF32, l.Download())};
  }

  static StateRows Dense(const MergeShape& s, int32_t k, const StateRows& in) {
    Array o(Encode(s.in, in.o), 0), l(Encode(Dtype::kF32, in.lse), 0);
    Array mo(Encode(s.out, std::vector<double>(s.rows() * s.dim, 9)), 0);
    Array ml(Encode(Dtype::kF32, std::vector<double>(s.rows(), 9)), 0);
    const absl::Status status =
        Backend::RunStates(MergeStatesArgs{.o = o.get(),
                                           .lse = static_cast<float*>(l.get()),
                                           .k = k,
                                           .merged_o = mo.get(),
                                           .merged_lse = static_cast<float*>(ml.get()),
                                           .in = s.in,
                                           .out = s.out,
                                           .tokens = s.tokens,
                                           .heads = s.heads,
                                           .dim = s.dim,
                                           .lse_base = s.lse_base,
                                           .plus_inf_is_empty = s.plus_inf_is_empty});
    EXPECT_TRUE(status.ok()) << status;
    return {Decode(s.out, mo.Download()), Decode(Dtype::kF32, ml.Download())};
  }

  template <class Id>
  static StateRows Csr(const MergeShape& s, const std::vector<Id>& indptr, const StateRows& in,
                       Id count = -1) {
    const auto bytes_of = [](const std::vector<Id>& ids) {
      std::vector<uint8_t> bytes(ids.size() * sizeof(Id));
      std::memcpy(bytes.data(), ids.data(), bytes.size());
      return bytes;
    };
    Array o(Encode(s.in, in.o), 0), l(Encode(Dtype::kF32, in.lse), 0);
    Array pointers(bytes_of(indptr), 0), counts(bytes_of({count}), 0);
    Array mo(Encode(s.out, std::vector<double>(s.rows() * s.dim, 9)), 0);
    Array ml(Encode(Dtype::kF32, std::vector<double>(s.rows(), 9)), 0);
    const absl::Status status = Backend::RunStates(
        MergeStatesCsrArgs<Id>{.o = o.get(),
                               .lse = static_cast<float*>(l.get()),
                               .indptr = static_cast<Id*>(pointers.get()),
                               .tokens = count < 0 ? nullptr : static_cast<Id*>(counts.get()),
                               .merged_o = mo.get(),
                               .merged_lse = static_cast<float*>(ml.get()),
                               .in = s.in,
                               .out = s.out,
                               .max_tokens = s.tokens,
                               .heads = s.heads,
                               .dim = s.dim,
                               .lse_base = s.lse_base,
                               .plus_inf_is_empty = s.plus_inf_is_empty});
    EXPECT_TRUE(status.ok()) << status;
    return {Decode(s.out, mo.Download()), Decode(Dtype::kF32, ml.Download())};
  }

  // The states `first` .. first + count - 1 of one head, in double.
  static void ExpectMerged(const MergeShape& s, const StateRows& in, int64_t first, int64_t count,
                           const StateRows& got, int64_t token) {
    const double ulp = s.out == Dtype::kF32 ? 2e-6 : (s.out == Dtype::kF16 ? 9.8e-4 : 7.9e-3);
    for (int32_t h = 0; h < s.heads; ++h) {
      const auto lse = [&](int64_t i) {
        return in.lse[(first + i) * s.heads + h] *
               (s.lse_base == LseBase::kTwo ? std::log(2.0) : 1);
      };
      double sum = 0;
      for (int64_t i = 0; i < count; ++i) sum += std::exp(lse(i));
      const int64_t row = token * s.heads + h;
      for (int32_t e = 0; e < s.dim; ++e) {
        double want = 0;
        for (int64_t i = 0; i < count; ++i) {
          want += std::exp(lse(i)) / sum * in.o[((first + i) * s.heads + h) * s.dim + e];
        }
        EXPECT_TRUE(IsNear(got.o[row * s.dim + e], want, ulp, 2e-6)) << "element " << e;
      }
      const double in_base = std::log(sum) / (s.lse_base == LseBase::kTwo ? std::log(2.0) : 1);
      EXPECT_TRUE(IsNear(got.lse[row], in_base, 1e-6, 1e-6)) << got.lse[row] << " " << in_base;
    }
  }

  // Two states of one row by every way there is.
  static void Check(double a, double a_lse, double b, double b_lse, double o, double lse,
                    const MergeShape& shape = {}) {
    const StateRows first = {{a}, {a_lse}}, second = {{b}, {b_lse}};
    const StateRows both = {{a, b}, {a_lse, b_lse}};
    // With an empty state between them nothing changes, and there are enough for other code.
    StateRows many = both;
    for (int i = 0; i < 38; ++i) {
      many.o.push_back(kNaN);
      many.lse.push_back(-kInf);
    }
    for (const StateRows& got :
         {Pair(shape, first, second), Pair(shape, first, second, true), Pair(shape, second, first),
          Dense(shape, 2, both), Csr<int32_t>(shape, {0, 2}, both),
          Csr<int64_t>(shape, {0, 2}, both), Dense(shape, 40, many),
          Csr<int64_t>(shape, {0, 40}, many)}) {
      EXPECT_TRUE(IsNear(got.o[0], o, 1e-6)) << got.o[0] << " for " << o;
      EXPECT_TRUE(IsNear(got.lse[0], lse, 1e-7)) << got.lse[0] << " for " << lse;
    }
  }
};

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_CONFORMANCE_SOFTMAX_MERGE_FIXTURE_H_
