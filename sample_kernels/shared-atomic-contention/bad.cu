// Shows: a weighted histogram in shared memory whose neighbouring elements share a bin
// Expect: shared-atomic-contention
// Arguments: [elements = 16777216]
//
// An addition of floats in shared memory is a loop that reads, adds and swaps if nobody else was
// faster: of 32 lanes with the same bin one succeeds per turn. good.cu gives every lane its own bins.
#include "histogram.cuh"

__global__ void histogram_in_one_copy(const unsigned* __restrict__ keys,
                                      const float* __restrict__ weights,
                                      float* __restrict__ sums, unsigned count) {
  __shared__ float bins[kBins];
  if (threadIdx.x < kBins) bins[threadIdx.x] = 0.0f;
  __syncthreads();
  for (unsigned i = blockIdx.x * kThreads + threadIdx.x; i < count; i += gridDim.x * kThreads)
    atomicAdd(&bins[keys[i]], weights[i]);
  __syncthreads();
  if (threadIdx.x < kBins) sums[blockIdx.x * kBins + threadIdx.x] = bins[threadIdx.x];
}

int main(int argc, char** argv) {
  return count_and_check("shared-atomic-contention/bad", histogram_in_one_copy, argc, argv);
}
