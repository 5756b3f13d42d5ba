// What the two depthwise convolutions share: shapes, reference, launch and comparison.
// Depthwise 3x3, stride 1, zero padding 1, NCHW: every channel has its own nine weights.
#pragma once

#include "../check.cuh"

constexpr unsigned kTileWidth = 32;  // outputs per block in x; also the threads in x

struct Shape {
  unsigned channels;
  unsigned height;
  unsigned width;
};

using Convolution = void (*)(const float*, const float*, float*, Shape);

inline float reference(const std::vector<float>& input, const std::vector<float>& weights,
                       const Shape& shape, std::size_t output_index) {
  const int x = static_cast<int>(output_index % shape.width);
  const int y = static_cast<int>(output_index / shape.width % shape.height);
  const std::size_t plane = output_index / shape.width / shape.height;
  const float* image = &input[plane * shape.height * shape.width];
  const float* weight = &weights[plane % shape.channels * 9];
  float sum = 0.0f;
  for (int dy = -1; dy <= 1; ++dy) {
    for (int dx = -1; dx <= 1; ++dx) {
      const int row = y + dy;
      const int column = x + dx;
      const bool inside = row >= 0 && row < static_cast<int>(shape.height) && column >= 0 &&
                          column < static_cast<int>(shape.width);
      if (inside)
        sum += image[static_cast<std::size_t>(row) * shape.width + column] *
               weight[(dy + 1) * 3 + dx + 1];
    }
  }
  return sum;
}

// One block computes kTileWidth x tile_height outputs of one plane with kTileWidth x block_rows
// threads; blockIdx.z is the plane (image and channel).
inline int convolve_and_check(const char* name, Convolution kernel, unsigned tile_height,
                              unsigned block_rows, int argc, char** argv) {
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
  sample::DeviceArray<float> device_input(input), device_weights(weights), output(count);

  const dim3 grid(sample::blocks_for(width, kTileWidth),
                  sample::blocks_for(height, tile_height, 65535),
                  sample::blocks_for(images * channels, 1, 65535));
  kernel<<<grid, dim3(kTileWidth, block_rows)>>>(device_input.get(), device_weights.get(),
                                                 output.get(), shape);
  CUDA_CHECK_LAUNCH();
  return sample::compare(
      name, output.download(),
      [&](std::size_t i) { return reference(input, weights, shape, i); }, {1e-5, 1e-5});
}
