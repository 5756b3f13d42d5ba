// Shows: every warp counts in shared memory, and the block adds its totals to global memory once
// Expect: none of the memory rules; arithmetic is the limit
// Arguments: [values = 16777216]
//
// 64 global updates per block instead of one per value.
#include "histogram.cuh"

constexpr unsigned kWarps = kThreads / 32;

__global__ void count_by_warp(unsigned* counts, std::uint32_t values) {
  __shared__ unsigned own[kWarps][kClasses];
  for (unsigned i = threadIdx.x; i < kWarps * kClasses; i += kThreads) (&own[0][0])[i] = 0U;
  __syncthreads();
  const std::uint32_t stride = gridDim.x * kThreads;
  for (std::uint32_t i = blockIdx.x * kThreads + threadIdx.x; i < values; i += stride)
    atomicAdd(&own[threadIdx.x / 32][class_of(i)], 1U);
  __syncthreads();
  if (threadIdx.x < kClasses) {
    unsigned total = 0U;
    for (unsigned warp = 0; warp < kWarps; ++warp) total += own[warp][threadIdx.x];
    atomicAdd(&counts[threadIdx.x], total);
  }
}

int main(int argc, char** argv) {
  return count_classes_and_check("atomic-contention/good", count_by_warp, argc, argv);
}
