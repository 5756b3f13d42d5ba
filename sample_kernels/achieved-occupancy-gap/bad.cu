// Shows: blocks of two warps with one element per thread: they end before the SM has filled up
// Expect: achieved-occupancy-gap
// Arguments: [elements = 16777216]
#include "scale.cuh"

__global__ void scale_one_each(const float* __restrict__ input, float* __restrict__ output,
                               std::size_t count) {
  const std::size_t i = std::size_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i < count) output[i] = fmaf(2.0f, input[i], 1.0f);
}

int main(int argc, char** argv) {
  const std::size_t count = element_count(argc, argv);
  return scale_and_check("achieved-occupancy-gap/bad", scale_one_each,
                         sample::blocks_for(count, kThreads), count);
}
