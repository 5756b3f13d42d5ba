// Shows: the first warp finishes the values of all 32 while the others wait at the barrier
// Expect: barrier-stalls
// Arguments: [rounds = 64]
//
// 31 of 32 warps have nothing to do for most of the time. In good.cu every thread finishes its own.
#include "filter.cuh"

__global__ void __launch_bounds__(kThreads, kBlocksPerSm)
    filter_by_first_warp(const float* __restrict__ input, float* __restrict__ output,
                         unsigned rounds) {
  __shared__ float tile[kThreads];
  __shared__ float drives[kThreads];
  const unsigned i = blockIdx.x * kThreads + threadIdx.x;
  const float drive = input[i];
  float value = drive;
  drives[threadIdx.x] = drive;
  for (unsigned round = 0; round < rounds; ++round) {
    tile[threadIdx.x] = recur(value, drive, kShort);
    __syncthreads();
    if (threadIdx.x < kWarp) {
#pragma unroll 1
      for (unsigned place = threadIdx.x; place < kThreads; place += kWarp)
        tile[place] = recur(tile[place], drives[place], kLong);
    }
    __syncthreads();
    value = tile[threadIdx.x];
  }
  output[i] = value;
}

int main(int argc, char** argv) {
  return filter_and_check("barrier-stalls/bad", filter_by_first_warp, argc, argv);
}
