// SPDX-License-Identifier: Apache-2.0
//
// Many rows that share prefixes, forked, truncated and closed on a CPU and on a GPU, id by id the
// same: in ascending order and not, of one parent and of several, of equal lengths and different
// ones, with and without tails, with rows that fail, per row and as a whole, by one thread block,
// by one cluster and by many.

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "tests/model/operations.h"
#include "tests/support/cuda_backend.h"
#include "tests/support/random.h"
#include "tests/support/test_seed.h"

namespace kvpage::test {
namespace {

constexpr int32_t kParents = 5;
constexpr int32_t kBlockTokens = 4;

class Pair {
 public:
  explicit Pair(const KvCacheOptions& options)
      : cpu_(Drive<CpuBackend>(options)), gpu_(Drive<CudaBackend>(options)) {}

  // What differs after the operation; empty if nothing does.
  std::string Play(const Operation& operation) {
    const RowResults expected = Perform(operation, cpu_);
    const RowResults results = Perform(operation, gpu_);
    if (results != expected) return Describe(results) + "\nCPU: " + Describe(expected);
    std::string difference = Difference(gpu_.Snapshot(), cpu_.Snapshot());
    if (difference.empty() && !gpu_.Audit().ok()) difference = "the audit finds an error";
    return difference;
  }

 private:
  CacheDriver cpu_;
  CacheDriver gpu_;
};

class SharedRows {
 public:
  SharedRows(uint64_t seed, int32_t children)
      : random_(seed),
        children_(children),
        row_blocks_(static_cast<int32_t>(random_.Between(1, 100))),
        pair_({.num_blocks = 4096 + 2 * static_cast<uint32_t>(children),
               .block_tokens = kBlockTokens,
               .max_sequences = static_cast<uint32_t>(children + kParents),
               .max_blocks_per_sequence = static_cast<uint32_t>(row_blocks_)}) {}

  std::string Play() {
    Rows parents(kParents);
    std::iota(parents.begin(), parents.end(), children_ / 2);  // amid the children
    Tokens lengths;
    for (int32_t i = 0; i < kParents; ++i) lengths.push_back(Below(row_blocks_ * kBlockTokens));
    std::string wrong = pair_.Play(AppendOperation{parents, lengths, Settings()});
    for (int32_t round = 0; round < 3 && wrong.empty(); ++round) {
      wrong = PlayRound(parents, lengths);
    }
    return wrong;
  }

 private:
  int32_t Below(int32_t most) { return static_cast<int32_t>(random_.Below(most + 1)); }
  RowSettings Settings() const { return {.failure = failure_}; }

  std::string PlayRound(const Rows& parents, const Tokens& lengths) {
    const bool has_one_parent = random_.Percent(40);
    const bool is_equally_long = random_.Percent(50);
    const bool has_tails = random_.Percent(20);
    const bool has_mistake = random_.Percent(30);
    failure_ = random_.Percent(25) ? FailureMode::kWholeBatch : FailureMode::kPerRow;
    Rows rows;
    Rows of;
    Tokens tokens;
    for (int32_t row = 0; row < children_ + kParents; ++row) {
      if (row >= parents.front() && row <= parents.back()) continue;
      rows.push_back(row);
      const int32_t p =
          has_one_parent ? 0 : static_cast<int32_t>(rows.size()) * kParents / children_;
      const int32_t parent = p < kParents ? p : kParents - 1;
      of.push_back(parents[parent]);
      int32_t length = is_equally_long ? lengths[parent] : Below(lengths[parent]);
      if (!has_tails) length -= length % kBlockTokens;
      tokens.push_back(length);
    }
    if (random_.Percent(40)) {
      for (size_t i = rows.size(); i > 1; --i)
        std::swap(rows[i - 1], rows[random_.Below(static_cast<uint32_t>(i))]);
    }
    if (has_mistake) {
      const size_t at = random_.Below(static_cast<uint32_t>(rows.size()));
      if (random_.Percent(50)) {
        rows[at] = rows[rows.size() / 2];  // twice, most likely
      } else {
        of[at] = rows[random_.Below(static_cast<uint32_t>(rows.size()))];  // closed
      }
    }
    std::string wrong = pair_.Play(ForkOperation{rows, of, tokens, Settings()});
    if (!wrong.empty()) return "Fork: " + wrong;
    for (int32_t& length : tokens) length = Below(length);
    wrong = pair_.Play(TruncateOperation{rows, tokens, Settings()});
    if (!wrong.empty()) return "Truncate: " + wrong;
    wrong = pair_.Play(CloseOperation{rows, Settings()});
    if (!wrong.empty()) return "Close: " + wrong;
    failure_ = FailureMode::kPerRow;  // what a whole batch that failed has left
    Rows all(static_cast<size_t>(children_ + kParents));
    std::iota(all.begin(), all.end(), 0);
    all.erase(all.begin() + parents.front(), all.begin() + parents.back() + 1);
    wrong = pair_.Play(CloseOperation{all, Settings()});
    return wrong.empty() ? "" : "Close of all: " + wrong;
  }

  Random random_;
  int32_t children_;
  int32_t row_blocks_;
  Pair pair_;
  FailureMode failure_ = FailureMode::kPerRow;
};

void PlaySeeds(uint32_t seeds, int32_t children) {
  ForEachSeed(seeds, [&](uint64_t seed) { return SharedRows(seed, children).Play(); });
}

TEST(CrossBackendShared, ByOneThreadBlock) { PlaySeeds(8, 40); }
TEST(CrossBackendShared, ByOneCluster) { PlaySeeds(6, 700); }
TEST(CrossBackendShared, ByManyClusters) { PlaySeeds(3, 3000); }
TEST(CrossBackendShared, ByMoreRowsThanOneClusterHasLanes) { PlaySeeds(1, 9000); }

}  // namespace
}  // namespace kvpage::test
