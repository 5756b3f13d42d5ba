// What the two variants share: a polynomial of degree 96 by Horner's rule, and its check.
#pragma once

#include "../check.cuh"

constexpr unsigned kThreads = 256;
constexpr int kDegree = 96;
constexpr int kPerThread = 4;  // polynomials evaluated side by side share each coefficient

using Evaluate = void (*)(const float*, float*, std::size_t);

inline double horner(double x, const std::vector<float>& coefficients) {
  double sum = 0.0;
  for (int k = kDegree; k >= 0; --k) sum = sum * x + coefficients[k];
  return sum;
}

// The arguments are in [-1/2, 1/2), where the rounding errors of float stay below 1e-5.
inline std::vector<float> arguments_in_half(std::size_t count) {
  std::vector<float> values = sample::random_floats(count, 7);
  for (float& value : values) value *= 0.5f;
  return values;
}

inline std::size_t element_count(int argc, char** argv) {
  const std::size_t count =
      sample::argument(argc, argv, 1, "elements", std::size_t{1} << 24, 1, std::size_t{1} << 32);
  sample::no_more_arguments(argc, 1);
  return count;
}

inline int evaluate_and_check(const char* name, Evaluate kernel, std::size_t count,
                              const std::vector<float>& coefficients) {
  const std::vector<float> input = arguments_in_half(count);
  sample::DeviceArray<float> device_input(input), output(count);
  kernel<<<sample::blocks_for(count, kThreads * kPerThread), kThreads>>>(device_input.get(), output.get(),
                                                            count);
  CUDA_CHECK_LAUNCH();
  return sample::compare_sampled(
      name, output.download(),
      [&](std::size_t i) { return horner(input[i], coefficients); }, {1e-5, 1e-5});
}
