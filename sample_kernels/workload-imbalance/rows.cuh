// Rows of 256 elements, each worked through a recurrence: the first 32nd of the rows takes 16 times
// as many steps as the others, like the few long rows of a sparse matrix sorted by length.
#pragma once

#include "../check.cuh"

constexpr unsigned kThreads = 256;
constexpr unsigned kEach = 4;  // independent chains per thread
constexpr unsigned kRow = kThreads * kEach;
constexpr unsigned kBlocksPerSm = 8;
constexpr unsigned kRowsPerBlock = 32;
constexpr unsigned kLong = 16;
constexpr float kFactor = 0.75f;

__host__ __device__ inline unsigned steps_of(unsigned row, unsigned rows, unsigned steps) {
  return row < rows / 32 ? kLong * steps : steps;
}

__device__ inline void recur_row(const float* __restrict__ input, float* __restrict__ output,
                                 unsigned row, unsigned rows, unsigned steps) {
  const std::size_t first = std::size_t{row} * kRow + threadIdx.x;
  float x[kEach];
  float y[kEach];
#pragma unroll
  for (unsigned k = 0; k < kEach; ++k) x[k] = y[k] = input[first + k * kThreads];
  const unsigned mine = steps_of(row, rows, steps);
#pragma unroll 8
  for (unsigned step = 0; step < mine; ++step)
#pragma unroll
    for (unsigned k = 0; k < kEach; ++k) y[k] = fmaf(y[k], kFactor, x[k]);
#pragma unroll
  for (unsigned k = 0; k < kEach; ++k) output[first + k * kThreads] = y[k];
}

using Kernel = void (*)(const float*, float*, unsigned, unsigned);

inline int run_and_check(const char* name, int argc, char** argv, Kernel kernel) {
  const std::size_t steps = sample::argument(argc, argv, 1, "steps", 128, 1, 1 << 16);
  sample::no_more_arguments(argc, 1);
  const unsigned blocks = kBlocksPerSm * static_cast<unsigned>(sample::sm_count());
  const unsigned rows = blocks * kRowsPerBlock;
  const std::vector<float> input = sample::random_floats(std::size_t{rows} * kRow, 31);
  sample::DeviceArray<float> device_input(input), output(input.size());
  kernel<<<blocks, kThreads>>>(device_input.get(), output.get(), rows,
                               static_cast<unsigned>(steps));
  CUDA_CHECK_LAUNCH();
  return sample::compare_sampled(
      name, output.download(),
      [&](std::size_t i) {
        const unsigned mine = steps_of(static_cast<unsigned>(i / kRow), rows,
                                       static_cast<unsigned>(steps));
        double y = input[i];
        for (unsigned step = 0; step < mine; ++step)
          y = y * kFactor + static_cast<double>(input[i]);
        return y;
      },
      {1e-5, 1e-5});
}
