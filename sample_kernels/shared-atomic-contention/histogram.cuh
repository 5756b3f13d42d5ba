// What the two variants share: a histogram of weights over keys that come in runs, as in sorted data
// or the rows of a picture, so that the lanes of a warp mostly have the same key.
#pragma once

#include "../check.cuh"

constexpr unsigned kBins = 64;
constexpr unsigned kRun = 256;  // neighbouring elements with the same key
constexpr unsigned kThreads = 256;

using Histogram = void (*)(const unsigned*, const float*, float*, unsigned);

// Every block writes the sums of its own elements: block b has those with (i / kThreads) % blocks == b.
inline int count_and_check(const char* name, Histogram kernel, int argc, char** argv) {
  const std::size_t count =
      sample::argument(argc, argv, 1, "elements", std::size_t{1} << 24, kThreads, 1U << 30);
  sample::no_more_arguments(argc, 1);
  const unsigned blocks = static_cast<unsigned>(8 * sample::sm_count());

  std::vector<unsigned> keys(count);
  std::vector<float> weights(count);
  std::vector<double> expected(std::size_t{blocks} * kBins);
  for (std::size_t i = 0; i < count; ++i) {
    keys[i] = sample::hash(static_cast<std::uint32_t>(i / kRun)) % kBins;
    weights[i] = 1.0f + 0.5f * sample::uniform(51, i);
    expected[i / kThreads % blocks * kBins + keys[i]] += weights[i];
  }
  sample::DeviceArray<unsigned> device_keys(keys);
  sample::DeviceArray<float> device_weights(weights), sums(expected.size());
  kernel<<<blocks, kThreads>>>(device_keys.get(), device_weights.get(), sums.get(),
                               static_cast<unsigned>(count));
  CUDA_CHECK_LAUNCH();
  return sample::compare(name, sums.download(), [&](std::size_t i) { return expected[i]; },
                         {1e-2, 1e-3});
}
