// What two of the variants share: every thread counts its elements into 16 bins of its own.
#pragma once

#include "../check.cuh"

constexpr unsigned kThreads = 128;
constexpr unsigned kBins = 16;
constexpr unsigned kPerThread = 64;

using Histogram = void (*)(const std::uint32_t*, std::uint32_t*, std::size_t);

// The data lies so that the threads of a warp read neighbouring words; so do the counts.
inline int histogram_and_check(const char* name, Histogram kernel, int argc, char** argv) {
  const std::size_t threads =
      sample::argument(argc, argv, 1, "threads", 132 * 2048 * 2, 1, std::size_t{1} << 26);
  sample::no_more_arguments(argc, 1);
  std::vector<std::uint32_t> data(threads * kPerThread);
  for (std::size_t i = 0; i < data.size(); ++i)
    data[i] = sample::hash(static_cast<std::uint32_t>(i)) % kBins;

  sample::DeviceArray<std::uint32_t> device_data(data), counts(threads * kBins);
  kernel<<<sample::blocks_for(threads, kThreads), kThreads>>>(device_data.get(), counts.get(),
                                                              threads);
  CUDA_CHECK_LAUNCH();

  std::vector<std::uint32_t> expected(threads * kBins, 0);
  for (std::size_t i = 0; i < data.size(); ++i) ++expected[data[i] * threads + i % threads];
  return sample::compare(name, counts.download(), [&](std::size_t i) { return expected[i]; });
}
