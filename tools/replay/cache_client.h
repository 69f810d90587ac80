// SPDX-License-Identifier: Apache-2.0
//
// tools/replay/cache_client.h
//
// Runs the batch operations on a cache as a server would: fill the arrays, enqueue, wait for the
// stream, read the statuses. Measures the time that takes.

#ifndef KVPAGE_TOOLS_REPLAY_CACHE_CLIENT_H_
#define KVPAGE_TOOLS_REPLAY_CACHE_CLIENT_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"

#include "kvpage/kv_cache.h"
#include "kvpage/stream_ref.h"
#include "tools/replay/batch_buffers.h"

namespace kvpage::replay {

struct OperationStats {
  uint64_t calls = 0;
  uint64_t rows = 0;
  double seconds = 0;

  OperationStats& operator+=(const OperationStats& other) {
    calls += other.calls;
    rows += other.rows;
    seconds += other.seconds;
    return *this;
  }
};

class CacheClient {
 public:
  // All arguments must outlive the client.
  CacheClient(KvCache& cache, StreamRef stream, BatchBuffers& buffers)
      : cache_(cache), stream_(stream), buffers_(buffers) {}

  const KvCache& cache() const { return cache_; }
  BatchBuffers& buffers() { return buffers_; }

  // Each runs on the first `num_rows` rows of the buffers and leaves a status for each. An error
  // means that the call or the stream failed.
  absl::Status Reserve(size_t num_rows);
  absl::Status Append(size_t num_rows, uint64_t num_tokens);  // num_tokens: the sum over the rows
  absl::Status BeginDraft(size_t num_rows, uint64_t num_tokens);
  absl::Status CommitDraft(size_t num_rows);
  absl::Status Close(size_t num_rows);

  const OperationStats& reserves() const { return reserves_; }
  const OperationStats& appends() const { return appends_; }
  const OperationStats& drafts() const { return drafts_; }
  const OperationStats& commits() const { return commits_; }
  const OperationStats& closes() const { return closes_; }

 private:
  RowBatch Batch(size_t num_rows) const;
  template <class Enqueue>
  absl::Status Run(OperationStats& stats, size_t num_rows, Enqueue enqueue);

  KvCache& cache_;
  StreamRef stream_;
  BatchBuffers& buffers_;
  OperationStats reserves_;
  OperationStats appends_;
  OperationStats drafts_;
  OperationStats commits_;
  OperationStats closes_;
};

}  // namespace kvpage::replay

#endif  // KVPAGE_TOOLS_REPLAY_CACHE_CLIENT_H_
