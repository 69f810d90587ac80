// SPDX-License-Identifier: Apache-2.0
//
// tests/conformance/tree_suite.h
//
// CompactDraft and MoveTokens: the accepted path of a token tree, moved to the front of the draft.

#ifndef KVPAGE_TESTS_CONFORMANCE_TREE_SUITE_H_
#define KVPAGE_TESTS_CONFORMANCE_TREE_SUITE_H_

#include <algorithm>

#include "tests/conformance/fixture.h"

namespace kvpage::test {

template <class Backend>
class Tree : public ConformanceTest<Backend> {};

TYPED_TEST_SUITE_P(Tree);

// Row 0 has 6 tokens and a draft of 7 nodes: slots 10, 11 and 12 .. 16.
inline void BeginTree(CacheDriver& d) {
  d.Append({0}, {6});
  EXPECT_EQ(d.BeginDraft({0}, {7}, {}, {.slot_capacity = 7}).slots,
            Slots({10, 11, 12, 13, 14, 15, 16}));
}
//  0 -- 2 -- 5 -- 6
//    \- 3
//  1 -- 4
inline const std::vector<int32_t> kTree = {-1, -1, 0, 0, 1, 2, 5};

// The moves of one row: those given, then none.
inline Moves MovesOf(Moves first) {
  first.resize(10);
  return first;
}

TYPED_TEST_P(Tree, MovesThePathToTheFront) {
  CacheDriver d = this->Make(kWithDrafts);
  BeginTree(d);
  RowResults r;
  ExpectChangesNothing(d, [&] { r = d.CompactDraft({0}, {4}, {{6}, {kTree}}); });
  EXPECT_EQ(r.statuses, Statuses({kOk}));
  EXPECT_EQ(r.moves, MovesOf({{}, {12, 11}, {15, 12}, {16, 13}}));
  EXPECT_EQ(r.commit_tokens, Tokens({4}));
}

TYPED_TEST_P(Tree, MovesNoMoreThanIsAccepted) {
  CacheDriver d = this->Make(kWithDrafts);
  BeginTree(d);
  EXPECT_EQ(d.CompactDraft({0}, {2}, {{6}, {kTree}}).moves, MovesOf({{}, {12, 11}}));
  EXPECT_EQ(d.CompactDraft({0}, {1}, {{4}, {kTree}}).moves, MovesOf({{11, 10}}));
  EXPECT_EQ(d.CompactDraft({0}, {0}, {{4}, {kTree}}).moves, MovesOf({}));
}

TYPED_TEST_P(Tree, ChainsAndTreesInOneBatch) {
  CacheDriver d = this->Make(kWithDrafts);
  BeginTree(d);
  d.Append({1, 2, 3}, {6, 6, 6});
  d.BeginDraft({1, 2, 3}, {3, 3, 4}, {1, 2, 1});
  const std::vector<int32_t> no_tree = {};
  const std::vector<int32_t> comb = {-1, 0, 0, 2};
  const RowResults r =
      d.CompactDraft({1, 3, 2, 0}, {2, 3, 3, 1}, {{-1, 3, -1, 0}, {no_tree, comb, no_tree, kTree}});
  EXPECT_EQ(r.statuses, Statuses(4, kOk));
  EXPECT_EQ(r.commit_tokens, Tokens({2, 3, 3, 1}));
  int moves = 0;
  for (const TokenMove& move : r.moves) moves += move.src >= 0;
  EXPECT_EQ(moves, 2);  // of the comb
  EXPECT_EQ(d.CommitDraft({1, 3, 2, 0}, r.commit_tokens, {0, 0, 1, 0}), Statuses(4, kOk));
  EXPECT_EQ(d.Length(3), 9);
  EXPECT_EQ(d.Length(0), 7);
}

TYPED_TEST_P(Tree, CarriesTheMarksOfThePath) {
  CacheDriver d = this->Make(kWithDrafts);
  BeginTree(d);
  d.Append({1, 2}, {8, 6});
  d.Fork({3}, {1}, {8});
  d.Truncate({1, 3}, {7, 7});
  // Row 1 has a shared tail, so its nodes are in private blocks; row 2 is a chain.
  const Slots slots = d.BeginDraft({1, 2}, {5, 2}, {}, {.slot_capacity = 7}).slots;
  constexpr int64_t kTokenBytes = 24;
  GuardedArena arena(*d.access().shared, 1 << 18);
  std::vector<uint8_t> marks(2 * 101 * 4 * kTokenBytes);
  // Two layers; a token's bytes say its slot.
  const auto mark = [](int64_t slot, int64_t layer) {
    return static_cast<uint8_t>(slot * 2 + layer + 1);
  };
  const auto place = [&](int64_t slot, int64_t layer) {
    return static_cast<size_t>((layer * 101 * 4 + slot) * kTokenBytes);
  };
  for (int64_t layer = 0; layer < 2; ++layer) {
    for (int64_t slot = 0; slot < 101 * 4; ++slot) {
      std::fill_n(marks.begin() + static_cast<ptrdiff_t>(place(slot, layer)), kTokenBytes,
                  mark(slot, layer));
    }
  }
  uint8_t* const data = arena.Take(marks);
  const KvTensor tensor = {.data = data,
                           .num_layers = 2,
                           .layer_stride = 101 * 4 * kTokenBytes,
                           .block_stride = 4 * kTokenBytes,
                           .token_stride = kTokenBytes,
                           .head_bytes = kTokenBytes};
  const std::vector<int32_t> fork = {-1, 0, 0, 1, 3};
  const RowResults r =
      d.CompactDraft({0, 1, 2}, {4, 4, 2}, {{6, 4, -1}, {kTree, fork, std::vector<int32_t>{}}});
  EXPECT_EQ(r.statuses, Statuses(3, kOk));
  d.MoveTokens(r.moves, tensor);
  EXPECT_EQ(d.CommitDraft({0, 1, 2}, r.commit_tokens), Statuses(3, kOk));

  // What the committed tokens hold is what the nodes of the paths held.
  const auto expect = [&](int32_t row, int32_t at, const Slots& nodes) {
    const Ids ids = d.Row(row);
    for (const int64_t node : nodes) {
      const int64_t slot = int64_t{ids[static_cast<size_t>(at / 4)]} * 4 + at % 4;
      for (int64_t layer = 0; layer < 2; ++layer) {
        for (int64_t byte = 0; byte < kTokenBytes; ++byte) {
          EXPECT_EQ(data[place(slot, layer) + static_cast<size_t>(byte)], mark(node, layer))
              << "row " << row << ", token " << at;
        }
      }
      ++at;
    }
  };
  expect(0, 6, {10, 12, 15, 16});
  expect(1, 7, {slots[0], slots[1], slots[3], slots[4]});
  expect(2, 6, {slots[5], slots[6]});
  EXPECT_TRUE(arena.Reset());
}

TYPED_TEST_P(Tree, ThatIsNoneIsInvalid) {
  CacheDriver d = this->Make(kWithDrafts);
  BeginTree(d);
  const auto expect_invalid = [&](int32_t tokens, int32_t leaf, std::vector<int32_t> parents) {
    const RowResults r = d.CompactDraft({0}, {tokens}, {{leaf}, {parents}});
    EXPECT_EQ(r.statuses, Statuses({kInvalid})) << tokens << " of " << leaf;
    EXPECT_EQ(r.moves, MovesOf({}));
    EXPECT_EQ(r.commit_tokens, Tokens({-1}));
  };
  ExpectChangesNothing(d, [&] {
    expect_invalid(5, 6, kTree);  // longer than the path
    expect_invalid(8, 6, kTree);
    expect_invalid(8, -1, kTree);  // longer than the draft
    expect_invalid(-1, 6, kTree);
    expect_invalid(1, 7, kTree);  // no such node
    expect_invalid(1, -2, kTree);
    expect_invalid(1, 2, {-1, -1, 2});  // its own parent
    expect_invalid(1, 2, {-1, 2, 1});   // a parent after it
    expect_invalid(1, 2, {-1, -1, -2});
    const RowResults r = d.CompactDraft({0}, {1}, {{0}, {}});  // no array of parents
    EXPECT_EQ(r.statuses, Statuses({kInvalid}));
  });
  // What cannot be compacted cannot be committed, and the draft stays.
  const RowResults r = d.CompactDraft({0}, {5}, {{6}, {kTree}});
  EXPECT_EQ(d.CommitDraft({0}, r.commit_tokens), Statuses({kInvalid}));
  EXPECT_TRUE(d.Sequence(0).drafting);
}

TYPED_TEST_P(Tree, NeedsADraftOfOneBranch) {
  CacheDriver d = this->Make(kWithDrafts);
  d.Append({0, 1}, {6, 6});
  d.BeginDraft({1}, {7}, {2});
  const RowResults r =
      d.CompactDraft({0, 1, 2, 8}, {1, 1, 1, 1}, {{6, 6, 6, 6}, {kTree, kTree, kTree, kTree}});
  EXPECT_EQ(r.statuses, Statuses({kWrongState, kWrongState, kClosed, kInvalid}));
  EXPECT_EQ(r.moves, Moves(40));
  EXPECT_EQ(r.commit_tokens, Tokens(4, -1));
}

TYPED_TEST_P(Tree, OfARowThatStandsTwiceIsMovedOnce) {
  CacheDriver d = this->Make(kWithDrafts);
  BeginTree(d);
  const RowResults r = d.CompactDraft({0, 0}, {4, 4}, {{6, 6}, {kTree, kTree}});
  EXPECT_EQ(r.statuses, Statuses({kOk, kInvalid}));
  EXPECT_EQ(r.commit_tokens, Tokens({4, -1}));
  EXPECT_EQ(Moves(r.moves.begin() + 10, r.moves.end()), Moves(10));
}

TYPED_TEST_P(Tree, OfAWholeBatchIsAllOrNoneAndStopsAtTheCount) {
  CacheDriver d = this->Make(kWithDrafts);
  BeginTree(d);
  RowResults r = d.CompactDraft({0, 1}, {4, 0}, {{6, -1}, {kTree, kTree}},
                                {.failure = FailureMode::kWholeBatch});
  EXPECT_EQ(r.statuses, Statuses({kCancelled, kClosed}));
  EXPECT_EQ(r.moves, Moves(20));
  EXPECT_EQ(r.commit_tokens, Tokens({-1, -1}));
  r = d.CompactDraft({0, 1}, {1, 1}, {{1, 1}, {kTree, kTree}}, {.count = 1});
  EXPECT_EQ(r.statuses, Statuses({kOk, kUnwritten}));
  EXPECT_EQ(Moves(r.moves.begin() + 10, r.moves.end()), Moves(10));
  EXPECT_EQ(r.commit_tokens, Tokens({1, kUnwrittenTokens}));
}

REGISTER_TYPED_TEST_SUITE_P(Tree, MovesThePathToTheFront, MovesNoMoreThanIsAccepted,
                            ChainsAndTreesInOneBatch, CarriesTheMarksOfThePath, ThatIsNoneIsInvalid,
                            NeedsADraftOfOneBranch, OfARowThatStandsTwiceIsMovedOnce,
                            OfAWholeBatchIsAllOrNoneAndStopsAtTheCount);

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_CONFORMANCE_TREE_SUITE_H_
