// What bad.cu and good.cu compute: every value goes through two recurrences, a short one and a
// longer one, round after round, with its block at a barrier in between.
#pragma once

#include "../check.cuh"

constexpr unsigned kThreads = 1024;
constexpr unsigned kWarp = 32;
constexpr unsigned kBlocksPerSm = 2;
constexpr int kShort = 96;
constexpr int kLong = 32;
constexpr float kDecay = 0.9375f;

// `steps` dependent multiply-adds.
__host__ __device__ inline float recur(float value, float drive, int steps) {
#pragma unroll 32
  for (int step = 0; step < steps; ++step) value = fmaf(value, kDecay, drive);
  return value;
}

using Filter = void (*)(const float*, float*, unsigned);

inline int filter_and_check(const char* name, Filter filter, int argc, char** argv) {
  const std::size_t rounds = sample::argument(argc, argv, 1, "rounds", 64, 1, 1 << 16);
  sample::no_more_arguments(argc, 1);
  const unsigned blocks = kBlocksPerSm * static_cast<unsigned>(sample::sm_count());
  const std::vector<float> input = sample::random_floats(std::size_t{blocks} * kThreads, 21);
  sample::DeviceArray<float> device_input(input), output(input.size());

  filter<<<blocks, kThreads>>>(device_input.get(), output.get(), static_cast<unsigned>(rounds));
  CUDA_CHECK_LAUNCH();
  return sample::compare_sampled(
      name, output.download(),
      [&](std::size_t i) {
        float value = input[i];
        for (std::size_t round = 0; round < rounds; ++round)
          value = recur(recur(value, input[i], kShort), input[i], kLong);
        return value;
      },
      {1e-4, 1e-4});
}
