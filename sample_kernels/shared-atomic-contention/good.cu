// Shows: the same histogram with one copy of the bins per lane, added up at the end
// Expect: dram-bandwidth-bound
// Arguments: [elements = 16777216]
//
// Bin b of lane l lies in bank l: the lanes of a warp neither share an address nor a bank.
#include "histogram.cuh"

constexpr unsigned kWarp = 32;

__global__ void histogram_per_lane(const unsigned* __restrict__ keys,
                                   const float* __restrict__ weights, float* __restrict__ sums,
                                   unsigned count) {
  __shared__ float bins[kBins][kWarp];
  for (unsigned i = threadIdx.x; i < kBins * kWarp; i += kThreads) bins[i / kWarp][i % kWarp] = 0.0f;
  __syncthreads();
  for (unsigned i = blockIdx.x * kThreads + threadIdx.x; i < count; i += gridDim.x * kThreads)
    atomicAdd(&bins[keys[i]][threadIdx.x % kWarp], weights[i]);
  __syncthreads();
  if (threadIdx.x < kBins) {
    float sum = 0.0f;
    for (unsigned lane = 0; lane < kWarp; ++lane)
      sum += bins[threadIdx.x][(lane + threadIdx.x) % kWarp];  // another bank for each thread
    sums[blockIdx.x * kBins + threadIdx.x] = sum;
  }
}

int main(int argc, char** argv) {
  return count_and_check("shared-atomic-contention/good", histogram_per_lane, argc, argv);
}
