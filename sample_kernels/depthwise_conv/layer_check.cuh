// What tuned.cu and fused.cu share: one layer through launch_tuned, compared with the CPU.
#pragma once

#include "layer.cuh"
#include "tuned.cuh"

inline int layer_and_check(const char* name, bool fused, int argc, char** argv) {
  const std::size_t images = sample::argument(argc, argv, 1, "images", 16, 1, 65535);
  const std::size_t channels = sample::argument(argc, argv, 2, "channels", 128, 1, 65535);
  const std::size_t height = sample::argument(argc, argv, 3, "height", 128, 1, 1 << 15);
  const std::size_t width = sample::argument(argc, argv, 4, "width", height, 1, 1 << 15);
  sample::no_more_arguments(argc, 4);
  const Shape shape{static_cast<unsigned>(channels), static_cast<unsigned>(height),
                    static_cast<unsigned>(width)};

  const std::size_t count = images * channels * height * width;
  const std::vector<float> input = sample::random_floats(count, 4);
  const std::vector<float> weights = sample::random_floats(channels * 9, 5);
  const std::vector<float> bias = sample::random_floats(channels, 6);
  sample::DeviceArray<float> device_input(input), device_weights(weights), device_bias(bias),
      output(count);

  const auto size = [](std::size_t value) { return static_cast<long long>(value); };
  const depthwise::Problem problem{
      device_input.get(), device_weights.get(), fused ? device_bias.get() : nullptr, output.get(),
      size(images), size(channels), size(height), size(width), 3, 1, 1, size(height), size(width),
      fused};
  CUDA_CHECK(depthwise::launch_tuned(problem, nullptr));
  CUDA_CHECK(cudaDeviceSynchronize());
  return sample::compare(
      name, output.download(),
      [&](std::size_t i) {
        const float sum = reference(input, weights, shape, i);
        return fused ? std::fmax(sum + bias[i / (height * width) % channels], 0.0f) : sum;
      },
      {1e-5, 1e-5});
}
