// A polynomial by Horner's scheme: one product and one sum per coefficient.
#pragma once

#include "../check.cuh"

constexpr unsigned kThreads = 256;
constexpr int kEach = 4;  // elements per thread: independent chains
constexpr int kDegree = 255;

__constant__ float coefficients[kDegree + 1];

template <typename Kernel>
int evaluate_and_check(const char* name, int argc, char** argv, Kernel kernel) {
  const std::size_t count =
      sample::argument(argc, argv, 1, "elements", std::size_t{1} << 24, 1, std::size_t{1} << 30);
  sample::no_more_arguments(argc, 1);
  const std::vector<float> values = sample::random_floats(kDegree + 1, 37);
  CUDA_CHECK(cudaMemcpyToSymbol(coefficients, values.data(), sizeof(coefficients)));
  std::vector<float> input = sample::random_floats(count, 38);
  for (float& x : input) x *= 0.9f;  // far enough from 1 that the sum stays small
  sample::DeviceArray<float> device_input(input), output(count);
  kernel<<<sample::blocks_for(count, kThreads * kEach), kThreads>>>(device_input.get(),
                                                                    output.get(), count);
  CUDA_CHECK_LAUNCH();
  return sample::compare_sampled(
      name, output.download(),
      [&](std::size_t i) {
        double y = 0.0;
        for (int k = kDegree; k >= 0; --k) y = y * input[i] + values[k];
        return y;
      },
      {1e-4, 1e-4});
}
