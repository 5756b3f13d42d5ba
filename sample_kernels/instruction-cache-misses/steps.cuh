// What bad.cu and good.cu compute: four recurrences per thread, kSteps steps long, several times.
// The loop over the steps is unrolled kUnroll times.
#pragma once

#include "../check.cuh"

constexpr unsigned kThreads = 256;
constexpr int kChains = 4;
constexpr int kSteps = 8192;
constexpr float kDecay = 0.96875f;

template <int kUnroll>
__global__ void step_unrolled(const float* __restrict__ input, float* __restrict__ output,
                              unsigned rounds) {
  const unsigned i = blockIdx.x * kThreads + threadIdx.x;
  const unsigned threads = gridDim.x * kThreads;
  float drive[kChains];
  float value[kChains];
#pragma unroll
  for (int chain = 0; chain < kChains; ++chain)
    value[chain] = drive[chain] = input[chain * threads + i];
#pragma unroll 1
  for (unsigned round = 0; round < rounds; ++round) {
#pragma unroll kUnroll
    for (int step = 0; step < kSteps; ++step) {
#pragma unroll
      for (int chain = 0; chain < kChains; ++chain)
        value[chain] = fmaf(value[chain], kDecay, drive[chain]);
    }
  }
#pragma unroll
  for (int chain = 0; chain < kChains; ++chain) output[chain * threads + i] = value[chain];
}

template <int kUnroll>
int step_and_check(const char* name, int argc, char** argv) {
  const std::size_t rounds = sample::argument(argc, argv, 1, "rounds", 8, 1, 1 << 12);
  sample::no_more_arguments(argc, 1);
  const unsigned blocks = static_cast<unsigned>(sample::sm_count());
  const std::vector<float> input =
      sample::random_floats(std::size_t{blocks} * kThreads * kChains, 51);
  sample::DeviceArray<float> device_input(input), output(input.size());

  step_unrolled<kUnroll><<<blocks, kThreads>>>(device_input.get(), output.get(),
                                               static_cast<unsigned>(rounds));
  CUDA_CHECK_LAUNCH();
  return sample::compare_sampled(
      name, output.download(),
      [&](std::size_t i) {
        float value = input[i];
        for (std::size_t step = 0; step < rounds * kSteps; ++step)
          value = std::fma(value, kDecay, input[i]);
        return value;
      },
      {1e-5, 1e-5});
}
