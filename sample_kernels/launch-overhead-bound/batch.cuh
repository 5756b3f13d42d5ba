// A batch of small vectors, each to be scaled and shifted.
#pragma once

#include "../check.cuh"

constexpr unsigned kThreads = 256;
constexpr std::size_t kLength = 32768;  // of one vector

__global__ void scale_vectors(const float* __restrict__ input, float* __restrict__ output) {
  const std::size_t i =
      (std::size_t{blockIdx.y} * gridDim.x + blockIdx.x) * kThreads + threadIdx.x;
  output[i] = fmaf(2.0f, input[i], 1.0f);
}

// Scales that many vectors in one launch.
inline int scale_and_check(const char* name, int argc, char** argv, std::size_t usual) {
  const std::size_t vectors = sample::argument(argc, argv, 1, "vectors", usual, 1, 65535);
  sample::no_more_arguments(argc, 1);
  const std::vector<float> input = sample::random_floats(vectors * kLength, 34);
  sample::DeviceArray<float> device_input(input), output(input.size());
  const dim3 grid(static_cast<unsigned>(kLength / kThreads), static_cast<unsigned>(vectors));
  scale_vectors<<<grid, kThreads>>>(device_input.get(), output.get());
  CUDA_CHECK_LAUNCH();
  return sample::compare(name, output.download(),
                         [&](std::size_t i) { return 2.0f * input[i] + 1.0f; });
}
