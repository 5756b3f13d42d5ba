// Each warp walks a chain through memory and works a recurrence on what it finds: the load and the
// arithmetic depend on each other, so only other warps can fill the waiting.
#pragma once

#include "../chain.cuh"

constexpr unsigned kWarp = 32;
constexpr unsigned kWarpsPerSm = 256;
constexpr int kRecurrence = 44;
constexpr float kFactor = 0.5f;
constexpr std::uint32_t kElements = 1U << 25;  // 128 MB: more than the L2 cache

__host__ __device__ inline std::uint32_t start_of(unsigned warp) {
  return (warp * 2654435761U) & (kElements - 1);
}

__global__ void walk(const std::uint32_t* __restrict__ next, float* __restrict__ output,
                     unsigned steps) {
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  std::uint32_t at = start_of(thread / kWarp);
  float value = static_cast<float>(thread % kWarp);
  for (unsigned step = 0; step < steps; ++step) {
    at = next[at];
    const float add = static_cast<float>(at & 255U);
#pragma unroll
    for (int k = 0; k < kRecurrence; ++k) value = fmaf(value, kFactor, add);
  }
  output[thread] = value;
}

inline int walk_and_check(const char* name, int argc, char** argv, unsigned threads) {
  const std::size_t steps = sample::argument(argc, argv, 1, "steps", 64, 1, 4096);
  sample::no_more_arguments(argc, 1);
  const unsigned count = kWarpsPerSm * kWarp * static_cast<unsigned>(sample::sm_count());
  const std::vector<std::uint32_t> next = sample::chain(kElements, 33);
  sample::DeviceArray<std::uint32_t> device_next(next);
  sample::DeviceArray<float> output(count);
  walk<<<count / threads, threads>>>(device_next.get(), output.get(), static_cast<unsigned>(steps));
  CUDA_CHECK_LAUNCH();
  return sample::compare_sampled(
      name, output.download(),
      [&](std::size_t i) {
        std::uint32_t at = start_of(static_cast<unsigned>(i / kWarp));
        double value = static_cast<double>(i % kWarp);
        for (std::size_t step = 0; step < steps; ++step) {
          at = next[at];
          for (int k = 0; k < kRecurrence; ++k) value = value * kFactor + (at & 255U);
        }
        return value;
      },
      {1e-3, 1e-5});
}
