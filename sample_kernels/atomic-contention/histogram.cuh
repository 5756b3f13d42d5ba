// What bad.cu and good.cu compute: how often each of 64 classes occurs. Finding a value's class
// takes some arithmetic.
#pragma once

#include "../check.cuh"

constexpr unsigned kThreads = 256;
constexpr unsigned kBlocksPerSm = 8;
constexpr unsigned kClasses = 64;
constexpr int kHashes = 16;

__host__ __device__ inline std::uint32_t class_of(std::uint32_t x) {
#pragma unroll
  for (int round = 0; round < kHashes; ++round) {
    x ^= x >> 16;
    x *= 0x7feb352dU;
    x ^= x >> 15;
    x *= 0x846ca68bU;
  }
  return x / 7U % kClasses;
}

using Histogram = void (*)(unsigned*, std::uint32_t);

inline int count_classes_and_check(const char* name, Histogram kernel, int argc, char** argv) {
  const std::size_t values = sample::argument(argc, argv, 1, "values", 1U << 24, 1, 1U << 31);
  sample::no_more_arguments(argc, 1);
  const unsigned blocks = kBlocksPerSm * static_cast<unsigned>(sample::sm_count());
  sample::DeviceArray<unsigned> counts(std::vector<unsigned>(kClasses, 0U));

  kernel<<<blocks, kThreads>>>(counts.get(), static_cast<std::uint32_t>(values));
  CUDA_CHECK_LAUNCH();
  std::vector<unsigned> expected(kClasses, 0U);
  for (std::size_t i = 0; i < values; ++i) ++expected[class_of(static_cast<std::uint32_t>(i))];
  return sample::compare(name, counts.download(), [&](std::size_t i) { return expected[i]; });
}
