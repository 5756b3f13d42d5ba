// y = 2x + 1 over a large array.
#pragma once

#include "../check.cuh"

constexpr unsigned kThreads = 64;  // 32 blocks of them fill an SM

inline std::size_t element_count(int argc, char** argv) {
  const std::size_t count =
      sample::argument(argc, argv, 1, "elements", std::size_t{1} << 24, 1, std::size_t{1} << 30);
  sample::no_more_arguments(argc, 1);
  return count;
}

template <typename Kernel>
int scale_and_check(const char* name, Kernel kernel, unsigned blocks, std::size_t count) {
  const std::vector<float> input = sample::random_floats(count, 32);
  sample::DeviceArray<float> device_input(input), output(count);
  kernel<<<blocks, kThreads>>>(device_input.get(), output.get(), count);
  CUDA_CHECK_LAUNCH();
  return sample::compare(name, output.download(),
                         [&](std::size_t i) { return 2.0f * input[i] + 1.0f; });
}
