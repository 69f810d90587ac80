// SPDX-License-Identifier: Apache-2.0
//
// examples/paged_decode/main.cc
//
// A toy decoder: every token's KV is one number, and "attention" adds up the numbers of all tokens
// before it. Two sequences share a prompt by a fork, so its full blocks exist once and only the
// partial tail is copied; then each goes its own way. At the end the paged cache must hold, for
// each sequence, the same numbers as a plain list.

#include <cstdio>
#include <memory>
#include <utility>
#include <vector>

#include "absl/types/span.h"

#include "kvpage/core/cpu_atomics.h"
#include "kvpage/core/page_table_ref.h"
#include "kvpage/kv_cache.h"

namespace {

using kvpage::OpStatus;
using kvpage::StreamRef;

constexpr int32_t kBlockTokens = 4;
constexpr uint32_t kBlocks = 32;

class Decoder {
 public:
  explicit Decoder(std::unique_ptr<kvpage::KvCache> cache)
      : cache_(std::move(cache)), kv_((kBlocks + 1) * kBlockTokens) {}

  // Adds a token whose KV is `value`.
  bool Append(int32_t row, double value) {
    const int32_t one = 1;
    int64_t slot = -1;
    kvpage::BlockCopy copy;
    OpStatus status;
    if (!cache_
             ->Append(StreamRef::Default(),
                      {.batch = {.rows = &row, .num_rows = 1, .statuses = &status},
                       .tokens = &one,
                       .slots = &slot,
                       .slot_capacity = 1,
                       .copies = &copy})
             .ok() ||
        status != OpStatus::kOk || !Copy(copy)) {
      return false;
    }
    kv_[slot] = value;
    return true;
  }

  // Opens `child` with the first `tokens` tokens of `parent`.
  bool Fork(int32_t parent, int32_t child, int32_t tokens) {
    kvpage::BlockCopy copy;
    OpStatus status;
    return cache_
               ->Fork(StreamRef::Default(),
                      {.batch = {.rows = &child, .num_rows = 1, .statuses = &status},
                       .parents = &parent,
                       .tokens = &tokens,
                       .copies = &copy})
               .ok() &&
           status == OpStatus::kOk && Copy(copy);
  }

  // What attention would read: the row's tokens, found through the page table.
  double Attend(int32_t row) const {
    const kvpage::PageTableRef<kvpage::CpuAtomics> table(cache_->table());
    double sum = 0;
    for (int32_t p = 0; p < table.Sequence(row).kv_len; ++p) sum += kv_[table.Slot(row, p)];
    return sum;
  }

  uint64_t owned_blocks() const { return cache_->AuditNow(StreamRef::Default())->owned_blocks; }

 private:
  bool Copy(const kvpage::BlockCopy& copy) {
    kvpage::KvTensor tensor;
    tensor.data = kv_.data();
    tensor.token_stride = sizeof(double);
    tensor.head_bytes = sizeof(double);
    tensor.block_stride = kBlockTokens * sizeof(double);
    return cache_->CopyBlocks(StreamRef::Default(), &copy, 1, absl::MakeConstSpan(&tensor, 1)).ok();
  }

  std::unique_ptr<kvpage::KvCache> cache_;
  std::vector<double> kv_;
};

}  // namespace

int main() {
  auto cache = kvpage::CreateCpuKvCache({.num_blocks = kBlocks,
                                         .block_tokens = kBlockTokens,
                                         .max_sequences = 2,
                                         .max_blocks_per_sequence = 8});
  if (!cache.ok()) return 1;
  Decoder decoder(*std::move(cache));
  double expected[2] = {0, 0};
  bool ok = true;
  for (int32_t token = 0; token < 10; ++token) {  // the prompt: 2 full blocks and a half
    ok = ok && decoder.Append(0, token);
    expected[0] += token;
  }
  ok = ok && decoder.Fork(0, 1, 10);
  expected[1] = expected[0];
  for (int32_t token = 0; token < 7; ++token) {
    for (int32_t row = 0; row < 2; ++row) {
      const double value = 100 * (row + 1) + token;
      ok = ok && decoder.Append(row, value);
      expected[row] += value;
    }
  }
  for (int32_t row = 0; row < 2; ++row) {
    std::printf("row %d attends to %g, expected %g\n", row, decoder.Attend(row), expected[row]);
    ok = ok && decoder.Attend(row) == expected[row];
  }
  // 17 tokens are 5 blocks a row; the first 2 are shared.
  std::printf("%d blocks hold both rows\n", static_cast<int>(decoder.owned_blocks()));
  return ok && decoder.owned_blocks() == 8 ? 0 : 1;
}
