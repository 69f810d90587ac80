// SPDX-License-Identifier: Apache-2.0
//
// tests/cuda/reader_launch.h
//
// The writer's parts and the readers of tests/support/reader_step.h as kernels.

#ifndef KVPAGE_TESTS_CUDA_READER_LAUNCH_H_
#define KVPAGE_TESTS_CUDA_READER_LAUNCH_H_

#include <cuda_runtime_api.h>

#include "kvpage/core/page_table_storage.h"
#include "tests/support/reader_step.h"

namespace kvpage::test {

// A warp for each thread block, so that the readers are spread over the GPU. All run at a time.
inline constexpr int32_t kReaderBlocks = 16;
inline constexpr int32_t kReaders = kReaderBlocks * 32;

cudaError_t LaunchWriterPart(cudaStream_t stream, WriterPart part, const ReaderStep& step,
                             const PageTableStorage& table);
// kReaders threads that read rows until *stop, pinned memory, is not 0; or a minute has gone by.
cudaError_t LaunchReaders(cudaStream_t stream, const ReaderStep& step,
                          const PageTableStorage& table, const uint32_t* stop);

}  // namespace kvpage::test

#endif  // KVPAGE_TESTS_CUDA_READER_LAUNCH_H_
