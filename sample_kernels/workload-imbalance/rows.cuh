// Rows of 4096 elements, each worked through a recurrence: the first 32nd of the rows takes 4 times as
// many steps as the others, like the few long rows of a sparse matrix sorted by length.
#pragma once

#include "../check.cuh"

constexpr unsigned kThreads = 1024;
constexpr unsigned kEach = 4;  // independent chains per thread
constexpr unsigned kRow = kThreads * kEach;
// One row in so many is long: as many as there are blocks, so that they can be dealt out evenly.
constexpr unsigned kRowsPerBlock = 32;
constexpr unsigned kLong = 4;
constexpr float kFactor = 0.75f;

__host__ __device__ inline unsigned steps_of(unsigned row, unsigned rows, unsigned steps) {
  return row < rows / kRowsPerBlock ? kLong * steps : steps;
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

// One block per SM: wherever the blocks land, the one with the most work decides how long it takes.
// With several per SM the time would depend on how many of the long ones happen to share one. What
// keeps a second block away is shared memory that nobody uses, more than half of what an SM has.
inline int room_for_one(Kernel kernel) {
  int device = 0;
  int per_sm = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&per_sm, cudaDevAttrMaxSharedMemoryPerMultiprocessor, device));
  const int bytes = per_sm / 2 + 1;
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  int fit = 0;
  CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fit, kernel, kThreads,
                                                           static_cast<std::size_t>(bytes)));
  if (fit != 1) sample::refuse("this sample needs exactly one block per SM");
  return bytes;
}

inline int run_and_check(const char* name, int argc, char** argv, Kernel kernel) {
  const std::size_t steps = sample::argument(argc, argv, 1, "steps", 512, 1, 1 << 16);
  sample::no_more_arguments(argc, 1);
  const unsigned blocks = static_cast<unsigned>(sample::sm_count());
  const unsigned rows = blocks * kRowsPerBlock;
  const std::vector<float> input = sample::random_floats(std::size_t{rows} * kRow, 31);
  sample::DeviceArray<float> device_input(input), output(input.size());
  const int shared = room_for_one(kernel);
  kernel<<<blocks, kThreads, shared>>>(device_input.get(), output.get(), rows,
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
