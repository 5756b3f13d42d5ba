// Shows: as many of the same blocks as fit at once, each with many elements
// Expect: dram-bandwidth-bound
// Arguments: [elements = 16777216]
#include "scale.cuh"

constexpr unsigned kEach = 4;  // loads in flight per thread

__global__ void scale_many_each(const float* __restrict__ input, float* __restrict__ output,
                                std::size_t count) {
  const std::size_t stride = std::size_t{gridDim.x} * kThreads;
  std::size_t i = std::size_t{blockIdx.x} * kThreads + threadIdx.x;
  for (; i + (kEach - 1) * stride < count; i += kEach * stride) {
    float x[kEach];
#pragma unroll
    for (unsigned k = 0; k < kEach; ++k) x[k] = input[i + k * stride];
#pragma unroll
    for (unsigned k = 0; k < kEach; ++k) output[i + k * stride] = fmaf(2.0f, x[k], 1.0f);
  }
  for (; i < count; i += stride) output[i] = fmaf(2.0f, input[i], 1.0f);
}

int main(int argc, char** argv) {
  const std::size_t count = element_count(argc, argv);
  int per_sm = 0;
  CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, scale_many_each, kThreads, 0));
  return scale_and_check("achieved-occupancy-gap/good", scale_many_each,
                         static_cast<unsigned>(per_sm * sample::sm_count()), count);
}
