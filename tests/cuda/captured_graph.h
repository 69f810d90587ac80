// SPDX-License-Identifier: Apache-2.0
//
// tests/cuda/captured_graph.h
//
// A CUDA graph of operations on the stream of the CudaBackend.

#ifndef KVPAGE_TESTS_CUDA_CAPTURED_GRAPH_H_
#define KVPAGE_TESTS_CUDA_CAPTURED_GRAPH_H_

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <functional>

#include "tests/support/cuda_backend.h"

namespace kvpage::test {

// What a capture of the operations that `enqueue` makes turns into.
class CapturedGraph {
 public:
  explicit CapturedGraph(const std::function<void(StreamRef)>& enqueue) {
    const cudaStream_t stream = CudaBackend::Stream().get();
    EXPECT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
    enqueue(CudaBackend::Stream());
    EXPECT_EQ(cudaStreamEndCapture(stream, &graph_), cudaSuccess);
    EXPECT_EQ(cudaGraphInstantiate(&executable_, graph_, 0), cudaSuccess);
  }
  ~CapturedGraph() {
    cudaGraphExecDestroy(executable_);
    cudaGraphDestroy(graph_);
  }
  CapturedGraph(const CapturedGraph&) = delete;
  CapturedGraph& operator=(const CapturedGraph&) = delete;

  void Replay() {
    EXPECT_EQ(cudaGraphLaunch(executable_, CudaBackend::Stream().get()), cudaSuccess);
  }

 private:
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t executable_ = nullptr;
};

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_CUDA_CAPTURED_GRAPH_H_
