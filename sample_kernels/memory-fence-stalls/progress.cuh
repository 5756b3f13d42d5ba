// What bad.cu and good.cu compute: every warp advances a recurrence step by step and says in
// global memory how far it is.
#pragma once

#include "../check.cuh"

constexpr unsigned kThreads = 256;
constexpr unsigned kWarp = 32;
constexpr unsigned kBlocksPerSm = 8;
constexpr int kSteps = 16;
constexpr float kDecay = 0.9375f;

// One stage of the work: `kSteps` dependent multiply-adds.
__host__ __device__ inline float advance(float value, float drive) {
#pragma unroll
  for (int step = 0; step < kSteps; ++step) value = fmaf(value, kDecay, drive);
  return value;
}

using Progress = void (*)(const float*, float*, unsigned*, unsigned);

inline int advance_and_check(const char* name, Progress kernel, int argc, char** argv) {
  const std::size_t stages = sample::argument(argc, argv, 1, "stages", 512, 1, 1 << 16);
  sample::no_more_arguments(argc, 1);
  const unsigned blocks = kBlocksPerSm * static_cast<unsigned>(sample::sm_count());
  const std::vector<float> input = sample::random_floats(std::size_t{blocks} * kThreads, 41);
  sample::DeviceArray<float> device_input(input), output(input.size());
  sample::DeviceArray<unsigned> reached(input.size() / kWarp);

  kernel<<<blocks, kThreads>>>(device_input.get(), output.get(), reached.get(),
                               static_cast<unsigned>(stages));
  CUDA_CHECK_LAUNCH();
  const int status = sample::compare_sampled(
      name, output.download(),
      [&](std::size_t i) {
        float value = input[i];
        for (std::size_t stage = 0; stage < stages; ++stage) value = advance(value, input[i]);
        return value;
      },
      {1e-4, 1e-4});
  if (status != 0) return status;
  return sample::compare(name, reached.download(), [&](std::size_t) { return stages; });
}
