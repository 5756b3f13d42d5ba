// What the two variants share: an 8-bit image, of which every pixel becomes the sum of the
// 2 * kRadius + 1 pixels above and below it.
#pragma once

#include "../check.cuh"

constexpr int kRadius = 16;
constexpr unsigned kWidth = 8192;  // a constant, so that the rows of a column need no arithmetic
constexpr unsigned kWarp = 32;
constexpr unsigned kRows = 16;     // rows per block: they share most of what they read in L1

using Blur = void (*)(const unsigned char*, unsigned short*, unsigned);

inline std::vector<unsigned char> random_image(std::size_t pixels) {
  std::vector<unsigned char> image(pixels);
  for (std::size_t i = 0; i < pixels; ++i)
    image[i] = static_cast<unsigned char>(sample::hash(static_cast<std::uint32_t>(i)));
  return image;
}

// `per_thread` neighbouring pixels are one thread's. The input has kRadius rows more on both ends.
inline int blur_and_check(const char* name, Blur kernel, unsigned per_thread, int argc,
                          char** argv) {
  const std::size_t rows = sample::argument(argc, argv, 1, "rows", 8192, kRows, 65535);
  sample::no_more_arguments(argc, 1);

  const std::vector<unsigned char> image = random_image((rows + 2 * kRadius) * kWidth);
  sample::DeviceArray<unsigned char> input(image);
  sample::DeviceArray<unsigned short> output(rows * kWidth);
  const dim3 block(kWarp, kRows);
  const dim3 grid(kWidth / (kWarp * per_thread), sample::blocks_for(rows, kRows, 65535));
  kernel<<<grid, block>>>(input.get(), output.get(), static_cast<unsigned>(rows));
  CUDA_CHECK_LAUNCH();

  return sample::compare(
      name, output.download(),
      [&](std::size_t i) {
        unsigned sum = 0;
        for (std::size_t row = 0; row <= 2 * kRadius; ++row) sum += image[i + row * kWidth];
        return sum;
      },
      {}, 97);  // an odd step visits every lane of a warp
}
