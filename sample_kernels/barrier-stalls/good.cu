// Shows: every thread finishes its own value; the block still meets at the barrier
// Expect: compute-bound
// Arguments: [rounds = 64]
//
// The same arithmetic as bad.cu and as many barriers, but no warp waits for the work of another.
#include "filter.cuh"

__global__ void __launch_bounds__(kThreads, kBlocksPerSm)
    filter_by_all_warps(const float* __restrict__ input, float* __restrict__ output,
                        unsigned rounds) {
  __shared__ float tile[kThreads];
  const unsigned i = blockIdx.x * kThreads + threadIdx.x;
  const float drive = input[i];
  float value = drive;
  for (unsigned round = 0; round < rounds; ++round) {
    tile[threadIdx.x] = recur(value, drive, kShort);
    __syncthreads();
    tile[threadIdx.x] = recur(tile[threadIdx.x], drive, kLong);
    __syncthreads();
    value = tile[threadIdx.x];
  }
  output[i] = value;
}

int main(int argc, char** argv) {
  return filter_and_check("barrier-stalls/good", filter_by_all_warps, argc, argv);
}
