// SPDX-License-Identifier: Apache-2.0
//
// The main of every benchmark: says in the output which machine and which commit the numbers are
// from. KVPAGE_COMMIT in the environment names the commit where git is not at hand. With
// KVPAGE_BENCH_CUDA, a benchmark of CUDA: where there is no GPU it runs nothing.

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "benchmark/benchmark.h"

#if defined(KVPAGE_BENCH_CUDA)
#include <cuda_runtime_api.h>
#endif

namespace {

std::string CpuModel() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);) {
    const size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != line.npos) return line.substr(colon + 2);
  }
  return "unknown";
}

#if defined(KVPAGE_BENCH_CUDA)
// False if there is no GPU.
bool AddGpuContext() {
  cudaDeviceProp gpu;
  int driver = 0;
  int runtime = 0;
  const cudaError_t error = cudaGetDeviceProperties(&gpu, 0);
  if (error != cudaSuccess) {
    std::fprintf(stderr, "no GPU, nothing to measure: %s\n", cudaGetErrorString(error));
    return false;
  }
  if (cudaDriverGetVersion(&driver) != cudaSuccess) driver = 0;
  if (cudaRuntimeGetVersion(&runtime) != cudaSuccess) runtime = 0;
  benchmark::AddCustomContext("gpu", gpu.name);
  benchmark::AddCustomContext("gpu_multiprocessors", std::to_string(gpu.multiProcessorCount));
  benchmark::AddCustomContext("cuda_driver", std::to_string(driver));
  benchmark::AddCustomContext("cuda_runtime", std::to_string(runtime));
  return true;
}
#endif

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
#if defined(KVPAGE_BENCH_CUDA)
  if (!AddGpuContext()) return 0;
#endif
  const char* commit = std::getenv("KVPAGE_COMMIT");
  benchmark::AddCustomContext("kvpage_commit", commit != nullptr ? commit : KVPAGE_BENCH_COMMIT);
  benchmark::AddCustomContext("cpu", CpuModel());
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
