// SPDX-License-Identifier: Apache-2.0
//
// cuda/cuda_status.h
//
// A CUDA error as a status that says which call failed.

#ifndef KVPAGE_CUDA_CUDA_STATUS_H_
#define KVPAGE_CUDA_CUDA_STATUS_H_

#include <cuda_runtime_api.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace kvpage {

inline absl::Status CudaStatus(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return absl::OkStatus();
  cudaGetLastError();  // it has been answered here, so it is not left for the next caller
  const std::string message = absl::StrCat("kvpage: ", call, ": ", cudaGetErrorName(error), ": ",
                                           cudaGetErrorString(error));
  switch (error) {
    case cudaErrorMemoryAllocation:
      return absl::ResourceExhaustedError(message);
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver:
      return absl::UnavailableError(message);
    default:
      return absl::InternalError(message);
  }
}

}  // namespace kvpage

#endif  // KVPAGE_CUDA_CUDA_STATUS_H_
