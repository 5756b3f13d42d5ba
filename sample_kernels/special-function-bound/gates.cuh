// The mean of 64 sigmoids per element, as in a gate with many slopes.
#pragma once

#include "../check.cuh"

constexpr unsigned kThreads = 256;
constexpr int kGates = 64;

// The slope of gate k, from 1/16 to 4.
__host__ __device__ constexpr float slope(int k) { return static_cast<float>(k + 1) / 16.0f; }

template <typename Kernel>
int average_and_check(const char* name, int argc, char** argv, Kernel kernel) {
  const std::size_t count =
      sample::argument(argc, argv, 1, "elements", std::size_t{1} << 23, 1, std::size_t{1} << 30);
  sample::no_more_arguments(argc, 1);
  const std::vector<float> input = sample::random_floats(count, 35);
  sample::DeviceArray<float> device_input(input), output(count);
  kernel<<<sample::blocks_for(count, kThreads), kThreads>>>(device_input.get(), output.get(),
                                                            count);
  CUDA_CHECK_LAUNCH();
  return sample::compare_sampled(
      name, output.download(),
      [&](std::size_t i) {
        double sum = 0.0;
        for (int k = 0; k < kGates; ++k)
          sum += 1.0 / (1.0 + std::exp(-static_cast<double>(input[i]) * slope(k)));
        return sum / kGates;
      },
      {1e-4, 0.0});
}
