// C = A B for square matrices of floats, row by row, in tiles of 128 x 128.
#pragma once

#include "../check.cuh"

constexpr unsigned kThreads = 256;
constexpr unsigned kTile = 128;

template <typename Kernel>
int multiply_and_check(const char* name, int argc, char** argv, Kernel kernel,
                       sample::Tolerance tolerance) {
  const std::size_t size = sample::argument(argc, argv, 1, "size", 2048, kTile, 16384);
  sample::no_more_arguments(argc, 1);
  if (size % kTile != 0) sample::refuse("the size must be a multiple of 128");
  const std::vector<float> a = sample::random_floats(size * size, 40);
  const std::vector<float> b = sample::random_floats(size * size, 41);
  sample::DeviceArray<float> device_a(a), device_b(b), c(size * size);
  const dim3 grid(static_cast<unsigned>(size / kTile), static_cast<unsigned>(size / kTile));
  kernel<<<grid, kThreads>>>(device_a.get(), device_b.get(), c.get(), static_cast<unsigned>(size));
  CUDA_CHECK_LAUNCH();
  return sample::compare_sampled(
      name, c.download(),
      [&](std::size_t i) {
        double sum = 0.0;
        for (std::size_t k = 0; k < size; ++k)
          sum += static_cast<double>(a[i / size * size + k]) * b[k * size + i % size];
        return sum;
      },
      tolerance);
}
