// SPDX-License-Identifier: Apache-2.0
//
// tests/replay/serving.h
//
// A scheduler with everything that it needs, around a FaultyKvCache.

#ifndef KVPAGE_TESTS_REPLAY_SERVING_H_
#define KVPAGE_TESTS_REPLAY_SERVING_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "tests/replay/faulty_kv_cache.h"
#include "tools/replay/batch_buffers.h"
#include "tools/replay/cache_client.h"
#include "tools/replay/scheduler.h"

namespace kvpage::test {

inline replay::Request MakeRequest(uint32_t prompt, uint32_t output) {
  replay::Request request;
  request.prompt_tokens = prompt;
  request.output_tokens = output;
  return request;
}

struct Serving {
  Serving(std::vector<replay::Request> all, const KvCacheOptions& cache_options,
          const replay::ServingOptions& options)
      : requests(std::move(all)),
        cache(FaultyKvCache::Create(cache_options)),
        buffers(*replay::BatchBuffers::Create(memory, cache_options.max_sequences,
                                              options.step_tokens)),
        client(*cache, StreamRef::Default(), buffers),
        scheduler(requests, options, client) {}

  // The status of the step that failed, or OK once all is done. Gives up after 100000 steps.
  absl::Status Run() {
    for (int step = 0; !scheduler.done(); ++step) {
      if (step == 100000) return absl::DeadlineExceededError("this does not end");
      if (absl::Status status = scheduler.Step(); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

  std::vector<Call> CallsOf(Operation operation) const {
    std::vector<Call> calls;
    for (const Call& call : cache->calls()) {
      if (call.operation == operation) calls.push_back(call);
    }
    return calls;
  }

  std::vector<replay::Request> requests;
  HostMemoryResource memory;
  std::unique_ptr<FaultyKvCache> cache;
  replay::BatchBuffers buffers;
  replay::CacheClient client;
  replay::Scheduler scheduler;
};

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_REPLAY_SERVING_H_
