// What the two variants share: two different recurrences, and a rule for which element gets which.
#pragma once

#include "../check.cuh"

constexpr unsigned kThreads = 256;
constexpr int kSteps = 256;

using Recur = void (*)(const float*, float*, std::size_t);

// Both converge, so a rounding difference does not grow; where to depends on `a`.
__host__ __device__ inline float quadratic(float a) {
  float x = a;
  for (int step = 0; step < kSteps; ++step) x = 0.25f * x * x + 0.5f * a;
  return x;
}

__host__ __device__ inline float cubic(float a) {
  float x = a;
  for (int step = 0; step < kSteps; ++step) x = 0.125f * x * x * x - 0.25f * x + 0.375f * a;
  return x;
}

// `second(i)` is true for the elements that take the second recurrence.
template <typename Second>
int recur_and_check(const char* name, Recur kernel, Second second, int argc, char** argv) {
  const std::size_t count =
      sample::argument(argc, argv, 1, "elements", std::size_t{1} << 22, 1, std::size_t{1} << 32);
  sample::no_more_arguments(argc, 1);
  const std::vector<float> input = sample::random_floats(count, 9);
  sample::DeviceArray<float> device_input(input), output(count);
  kernel<<<sample::blocks_for(count, kThreads), kThreads>>>(device_input.get(), output.get(),
                                                            count);
  CUDA_CHECK_LAUNCH();
  return sample::compare_sampled(
      name, output.download(),
      [&](std::size_t i) { return second(i) ? cubic(input[i]) : quadratic(input[i]); },
      {1e-5, 1e-5});
}
