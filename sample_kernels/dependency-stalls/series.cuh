// What bad.cu and good.cu compute: for each value the same recurrence, many steps long. One warp
// per scheduler, as where the work is not enough for more.
#pragma once

#include "../check.cuh"

constexpr unsigned kThreads = 128;
constexpr int kValues = 32;  // per thread and round
constexpr int kSteps = 2048;
constexpr float kDecay = 0.96875f;

using Series = void (*)(const float*, float*, unsigned);

inline float series(float start) {
  float value = start;
  for (int step = 0; step < kSteps; ++step) value = std::fma(value, kDecay, start);
  return value;
}

inline int sum_series_and_check(const char* name, Series kernel, int argc, char** argv) {
  const std::size_t rounds = sample::argument(argc, argv, 1, "rounds", 1, 1, 1 << 12);
  sample::no_more_arguments(argc, 1);
  const unsigned blocks = static_cast<unsigned>(sample::sm_count());
  const std::size_t count = std::size_t{blocks} * kThreads * kValues * rounds;
  const std::vector<float> input = sample::random_floats(count, 31);
  sample::DeviceArray<float> device_input(input), output(count);

  kernel<<<blocks, kThreads>>>(device_input.get(), output.get(),
                               static_cast<unsigned>(count / (std::size_t{blocks} * kThreads)));
  CUDA_CHECK_LAUNCH();
  return sample::compare_sampled(
      name, output.download(), [&](std::size_t i) { return series(input[i]); }, {1e-5, 1e-5});
}
