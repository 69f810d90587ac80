// SPDX-License-Identifier: Apache-2.0
//
// Merges of attention states on the CPU.

#include <cmath>
#include <limits>

#include "kvpage/softmax.h"
#include "src/dtype_convert.h"

namespace kvpage {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Merges the states of one row: lse(i) and o(i, e) of state i, in order.
class RowMerge {
 public:
  template <class Lse>
  RowMerge(int64_t count, LseBase base, bool plus_inf_is_empty, Lse lse)
      : count_(count), base_(base), plus_inf_is_empty_(plus_inf_is_empty) {
    for (int64_t i = 0; i < count; ++i) {
      const double l = Read(lse(i));
      any_nan_ = any_nan_ || std::isnan(l);
      max_ = std::fmax(max_, l);
    }
    for (int64_t i = 0; i < count; ++i) sum_ += Weight(Read(lse(i)));
  }

  double lse() const {
    if (any_nan_) return std::numeric_limits<double>::quiet_NaN();
    if (std::isinf(max_)) return max_;
    return max_ + (base_ == LseBase::kTwo ? std::log2(sum_) : std::log(sum_));
  }

  // Element e of the merged row.
  template <class Lse, class O>
  double Element(Lse lse, O o) const {
    double merged = 0;
    bool first = true;
    for (int64_t i = 0; i < count_; ++i) {
      const double weight = Weight(Read(lse(i)));
      if (weight == 0) continue;  // and never multiplied: an empty state's o may be anything
      const double part = weight / sum_ * o(i);
      merged = first ? part : merged + part;
      first = false;
    }
    return merged;
  }

 private:
  double Read(double lse) const {
    return plus_inf_is_empty_ && lse == kInfinity ? -kInfinity : lse;
  }
  double Weight(double lse) const {
    if (lse == -kInfinity) return 0;
    const double difference = lse - max_;  // NaN for the state of lse +inf, and so is its weight
    // In floats a weight this small is nothing, and its state does not count.
    const double weight = base_ == LseBase::kTwo ? std::exp2(difference) : std::exp(difference);
    return weight < 1e-38 ? 0 : weight;
  }

  int64_t count_;
  LseBase base_;
  bool plus_inf_is_empty_;
  double max_ = -kInfinity;
  double sum_ = 0;
  bool any_nan_ = false;
};

int64_t ElementAt(const StateStrides& s, int64_t token, int64_t head, int64_t e) {
  return token * s.token + head * s.head + e * s.element;
}
int64_t LseAt(const StateStrides& s, int64_t token, int64_t head) {
  return token * s.lse_token + head * s.lse_head;
}

void MergePairRow(const MergePairArgs& args, int64_t token, int64_t head) {
  const bool skip = args.skip_tokens != nullptr && args.skip_tokens[token] != 0;
  const ConstStates* const states[2] = {&args.a, &args.b};
  // Read before anything is written: merged may be a.
  const float lses[2] = {args.a.lse[LseAt(args.a.strides, token, head)],
                         args.b.lse[LseAt(args.b.strides, token, head)]};
  const auto lse = [&](int64_t i) { return lses[i]; };
  const RowMerge merge(2, args.lse_base, args.plus_inf_is_empty, lse);
  for (int64_t e = 0; e < args.dim; ++e) {
    const auto o = [&](int64_t i) {
      return ReadElement(states[i]->o, args.in, ElementAt(states[i]->strides, token, head, e));
    };
    WriteElement(args.merged.o, args.out, ElementAt(args.merged.strides, token, head, e),
                 skip ? o(0) : merge.Element(lse, o));
  }
  args.merged.lse[LseAt(args.merged.strides, token, head)] =
      skip ? lses[0] : static_cast<float>(merge.lse());
}

// begin(t): the first state of token t, also for the token behind the last.
template <class Begin>
void MergeLists(const MergeStatesArgs& args, int64_t tokens, Begin begin) {
  for (int64_t token = 0; token < tokens; ++token) {
    const int64_t first = begin(token);
    const int64_t count = begin(token + 1) - first;
    for (int64_t head = 0; head < args.heads; ++head) {
      const auto lse = [&](int64_t i) { return args.lse[(first + i) * args.heads + head]; };
      const RowMerge merge(count, args.lse_base, args.plus_inf_is_empty, lse);
      const int64_t row = token * args.heads + head;
      for (int64_t e = 0; e < args.dim; ++e) {
        const auto o = [&](int64_t i) {
          return ReadElement(args.o, args.in, ((first + i) * args.heads + head) * args.dim + e);
        };
        const bool is_copy = count == 1 && !std::isnan(merge.lse()) && merge.lse() != -kInfinity;
        WriteElement(args.merged_o, args.out, row * args.dim + e,
                     is_copy ? o(0) : merge.Element(lse, o));
      }
      if (args.merged_lse != nullptr) args.merged_lse[row] = static_cast<float>(merge.lse());
    }
  }
}

template <class Id>
absl::Status MergeCsr(const MergeStatesCsrArgs<Id>& csr) {
  MergeStatesArgs args = DenseOf(csr);
  absl::Status status = Prepare(args);
  if (!status.ok()) return status;
  if (csr.max_tokens > 0 && csr.indptr == nullptr) {
    return absl::InvalidArgumentError("kvpage: softmax: indptr must be given");
  }
  const int64_t given = csr.tokens != nullptr ? int64_t{*csr.tokens} : args.tokens;
  MergeLists(args, given < args.tokens ? given : args.tokens,
             [&](int64_t token) { return int64_t{csr.indptr[token]}; });
  return absl::OkStatus();
}

}  // namespace

absl::Status MergePair(const MergePairArgs& given) {
  MergePairArgs args = given;
  absl::Status status = Prepare(args);
  if (!status.ok()) return status;
  for (int64_t token = 0; token < args.tokens; ++token) {
    for (int64_t head = 0; head < args.heads; ++head) MergePairRow(args, token, head);
  }
  return absl::OkStatus();
}

absl::Status MergeStates(const MergeStatesArgs& given) {
  MergeStatesArgs args = given;
  absl::Status status = Prepare(args);
  if (!status.ok()) return status;
  MergeLists(args, args.tokens, [&](int64_t token) { return token * args.k; });
  return absl::OkStatus();
}

absl::Status MergeStates(const MergeStatesCsrArgs<int32_t>& args) { return MergeCsr(args); }
absl::Status MergeStates(const MergeStatesCsrArgs<int64_t>& args) { return MergeCsr(args); }

}  // namespace kvpage
