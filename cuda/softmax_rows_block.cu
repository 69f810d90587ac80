// SPDX-License-Identifier: Apache-2.0
//
// Softmax of rows that the registers of a thread block can keep, or the registers and the shared
// memory of a cluster of up to 16 thread blocks (sm_90 and later). A cluster waits for its slowest
// thread block, so that a few thread blocks that keep much are faster than many that keep little.

#include "cuda/launch_kernel.cuh"
#include "cuda/softmax_row_exchange.cuh"
#include "cuda/softmax_rows.cuh"

namespace kvpage {
namespace {

// In shared memory, each Raw where only the thread that asked for it reads it: no barrier.
template <class In>
class LandedPart : public PartOfRow<LandedPart<In>, In, kLandedTurns> {
 public:
  __device__ LandedPart(char* shared, uint32_t offset, uint32_t step, uint32_t end)
      : PartOfRow<LandedPart, In, kLandedTurns>(offset, step, end), shared_(shared) {}

  __device__ void Begin(const char* row, int64_t begin) const {
#if __CUDA_ARCH__ >= 800
#pragma unroll
    for (int j = 0; j < kLandedTurns; ++j) {
      const uint32_t i = j * this->step_ + this->offset_;
      if (i >= this->end_) break;
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                       static_cast<uint32_t>(__cvta_generic_to_shared(Place(j)))),
                   "l"(__cvta_generic_to_global(row + (begin + i) * 16))
                   : "memory");
    }
#endif
  }
  __device__ void Wait() const {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
  }
  __device__ typename In::Raw At(int j) const {
    if (j * this->step_ + this->offset_ >= this->end_) return In::Empty();
    return *reinterpret_cast<const typename In::Raw*>(Place(j));
  }

 private:
  __device__ char* Place(int j) const { return shared_ + (j * this->step_ + threadIdx.x) * 16; }

  char* shared_;
};

template <bool kLanded, class In, class Out>
__global__ void __launch_bounds__(kMaxRowThreads, 2)
    BlockRows(const __grid_constant__ RowsParams params, In in, Out out, uint32_t cluster) {
  extern __shared__ __align__(128) char shared[];
  __shared__ RowExchange::Scratch scratch;
  RowExchange exchange(scratch, cluster);
  const RowShare share(params.cols / In::kWidth, blockIdx.x % cluster, cluster);
  HeldPart<In> held(threadIdx.x, blockDim.x, share.count);
  const uint32_t in_registers = In::kHeld * blockDim.x;
  const uint32_t landed_count = share.count > in_registers ? share.count - in_registers : 0;
  const int64_t landed_begin = share.begin + in_registers;
  const LandedPart<In> landed(shared, threadIdx.x, blockDim.x, kLanded ? landed_count : 0);
  for (int64_t row = blockIdx.x / cluster; row < params.rows; row += gridDim.x / cluster) {
    const char* const x = params.x + row * params.x_bytes;
    if constexpr (kLanded) landed.Begin(x, landed_begin);
    held.Load(in, x, share.begin);
    SoftmaxState mine;
    mine.max = held.Max();
    if constexpr (kLanded) {
      landed.Wait();
      mine.max = fmaxf(mine.max, landed.Max());
    }
    mine.max = LanesMax(mine.max);
    mine.sum = held.Sum(Anchor(mine.max), params.exp2_scale);
    if constexpr (kLanded) mine.sum += landed.Sum(Anchor(mine.max), params.exp2_scale);
    mine.sum = LanesSum(mine.sum);
    exchange.Send(mine);
    exchange.Await();
    if (cluster == 1) __syncthreads();
    const RowEnd row_end(params, exchange.Merge(params.exp2_scale));
    if (params.y != nullptr) {
      char* const y = params.y + row * params.y_bytes;
      held.Store(row_end, out, y, share.begin);
      if constexpr (kLanded) landed.Store(row_end, out, y, landed_begin);
    }
    if (params.lse != nullptr && share.begin == 0 && threadIdx.x == 0) {
      params.lse[row] = row_end.lse();
    }
  }
  exchange.Finish();
}

struct Launcher {
  cudaStream_t stream;
  uint32_t threads;
  uint32_t cluster;

  template <class In, class Out>
  cudaError_t operator()(const RowsParams& params, In in, Out out) const {
    const int64_t most = (int64_t{1} << 30) / cluster;
    const uint32_t rows = static_cast<uint32_t>(params.rows < most ? params.rows : most);
    const int64_t raws = params.cols / In::kWidth;
    const bool fits = (raws + cluster - 1) / cluster <= int64_t{threads} * In::kHeld;
    if (cluster == 1) {
      if (!fits) return cudaErrorInvalidValue;
      return LaunchKernel(BlockRows<false, In, Out>, dim3(rows), threads, stream, params, in, out,
                          cluster);
    }
    if (fits) return LaunchCluster(BlockRows<false, In, Out>, rows, 0, params, in, out);
    if constexpr (In::kWidth > 1) {
      return LaunchCluster(BlockRows<true, In, Out>, rows, threads * kLandedTurns * 16, params, in,
                           out);
    }
    return cudaErrorInvalidValue;
  }

  template <class Kernel, class In, class Out>
  cudaError_t LaunchCluster(Kernel kernel, uint32_t rows, uint32_t shared_bytes,
                            const RowsParams& params, In in, Out out) const {
    cudaError_t error = cudaSuccess;
    if (cluster > 8) {
      error = cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
    }
    if (error == cudaSuccess && shared_bytes > 0) {
      error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   static_cast<int>(shared_bytes));
    }
    if (error != cudaSuccess) return error;
    return LaunchClusters(kernel, rows, cluster, threads, shared_bytes, stream, params, in, out,
                          cluster);
  }
};

}  // namespace

cudaError_t LaunchRowsBlock(cudaStream_t stream, const RowsLaunch& rows, uint32_t threads,
                            uint32_t cluster) {
  return WithTypes(rows, Launcher{stream, threads, cluster});
}

bool RowClustersRun() {
  cudaFuncAttributes attributes;
  const auto kernel = BlockRows<false, ScalarIn<F32>, ScalarOut>;
  if (cudaFuncGetAttributes(&attributes, kernel) != cudaSuccess) return false;
  return attributes.ptxVersion >= 90;
}

}  // namespace kvpage
