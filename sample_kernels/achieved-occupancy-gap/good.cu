// Shows: as many of the same blocks as fit at once, each thread with many elements, one at a time
// Expect: memory-latency-bound
// Arguments: [elements = 16777216]
//
// Only what bad does wrong is mended: its blocks end before the SM has filled up, these stay. Each
// thread still waits for one load before it starts the next, as in bad: with several in flight the
// kernel would be faster yet, but for a reason that has nothing to do with resident warps.
#include "scale.cuh"

__global__ void scale_many_each(const float* __restrict__ input, float* __restrict__ output,
                                std::size_t count) {
  const std::size_t stride = std::size_t{gridDim.x} * kThreads;
#pragma unroll 1  // unrolled, the loads of several elements would be in flight together
  for (std::size_t i = std::size_t{blockIdx.x} * kThreads + threadIdx.x; i < count; i += stride)
    output[i] = fmaf(2.0f, input[i], 1.0f);
}

int main(int argc, char** argv) {
  const std::size_t count = element_count(argc, argv);
  int per_sm = 0;
  CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, scale_many_each, kThreads, 0));
  return scale_and_check("achieved-occupancy-gap/good", scale_many_each,
                         static_cast<unsigned>(per_sm * sample::sm_count()), count);
}
