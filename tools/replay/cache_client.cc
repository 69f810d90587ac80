// SPDX-License-Identifier: Apache-2.0
//
// The clock runs from the call until the statuses can be read.

#include "tools/replay/cache_client.h"

#include <chrono>

#include "tools/replay/status_macros.h"

namespace kvpage::replay {

RowBatch CacheClient::Batch(size_t num_rows) const {
  return {.rows = buffers_.rows().data(),
          .num_rows = static_cast<int32_t>(num_rows),
          .statuses = buffers_.statuses().data()};
}

template <class Enqueue>
absl::Status CacheClient::Run(OperationStats& stats, size_t num_rows, Enqueue enqueue) {
  const auto start = std::chrono::steady_clock::now();
  KVPAGE_REPLAY_RETURN_IF_ERROR(enqueue());
  KVPAGE_REPLAY_RETURN_IF_ERROR(cache_.Synchronize(stream_));
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  stats += {.calls = 1, .rows = num_rows, .seconds = elapsed.count()};
  return absl::OkStatus();
}

absl::Status CacheClient::Reserve(size_t num_rows) {
  return Run(reserves_, num_rows, [&] {
    return cache_.Reserve(stream_, {.batch = Batch(num_rows), .tokens = buffers_.tokens().data()});
  });
}

absl::Status CacheClient::Append(size_t num_rows, uint64_t num_tokens) {
  return Run(appends_, num_rows, [&] {
    return cache_.Append(stream_, {.batch = Batch(num_rows),
                                   .tokens = buffers_.tokens().data(),
                                   .slots = buffers_.slots().data(),
                                   .slot_capacity = static_cast<int64_t>(num_tokens)});
  });
}

absl::Status CacheClient::BeginDraft(size_t num_rows, uint64_t num_tokens) {
  return Run(drafts_, num_rows, [&] {
    return cache_.BeginDraft(stream_, {.batch = Batch(num_rows),
                                       .tokens = buffers_.tokens().data(),
                                       .slots = buffers_.slots().data(),
                                       .slot_capacity = static_cast<int64_t>(num_tokens)});
  });
}

absl::Status CacheClient::CommitDraft(size_t num_rows) {
  return Run(commits_, num_rows, [&] {
    return cache_.CommitDraft(stream_,
                              {.batch = Batch(num_rows), .tokens = buffers_.tokens().data()});
  });
}

absl::Status CacheClient::Close(size_t num_rows) {
  return Run(closes_, num_rows, [&] { return cache_.Close(stream_, {.batch = Batch(num_rows)}); });
}

}  // namespace kvpage::replay
