// Tiles of floats, each worked through a long recurrence. A tile fills the shared memory of a block,
// so one block runs per SM; its 1024 threads keep the pipe of that SM busy.
#pragma once

#include "../check.cuh"

constexpr unsigned kThreads = 1024;
constexpr unsigned kEach = 4;  // elements per thread and piece: enough independent chains
constexpr unsigned kPiece = kThreads * kEach;
constexpr float kFactor = 0.75f;

__device__ inline void recur_piece(const float* __restrict__ input, float* __restrict__ output,
                                   float* staged, std::size_t first, unsigned steps) {
  for (unsigned k = 0; k < kEach; ++k)
    staged[k * kThreads + threadIdx.x] = input[first + k * kThreads + threadIdx.x];
  float x[kEach];
  float y[kEach];
#pragma unroll
  for (unsigned k = 0; k < kEach; ++k) x[k] = y[k] = staged[k * kThreads + threadIdx.x];
#pragma unroll 8
  for (unsigned step = 0; step < steps; ++step)
#pragma unroll
    for (unsigned k = 0; k < kEach; ++k) y[k] = fmaf(y[k], kFactor, x[k]);
  for (unsigned k = 0; k < kEach; ++k) output[first + k * kThreads + threadIdx.x] = y[k];
}

// Works through a tenth more tiles than SMs, in as many blocks as the kernel wants.
template <typename Kernel>
int run_and_check(const char* name, int argc, char** argv, Kernel kernel, bool block_per_tile) {
  const std::size_t steps = sample::argument(argc, argv, 1, "steps", 512, 1, 1 << 20);
  sample::no_more_arguments(argc, 1);
  int device = 0, shared = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
  const unsigned sms = static_cast<unsigned>(sample::sm_count());
  const unsigned tiles = sms + (sms + 9) / 10;
  const unsigned pieces = static_cast<unsigned>(shared / (kPiece * sizeof(float))) * tiles;

  const std::vector<float> input = sample::random_floats(std::size_t{pieces} * kPiece, 30);
  sample::DeviceArray<float> device_input(input), output(input.size());
  kernel<<<block_per_tile ? tiles : sms, kThreads, static_cast<std::size_t>(shared)>>>(
      device_input.get(), output.get(), pieces, static_cast<unsigned>(steps));
  CUDA_CHECK_LAUNCH();
  return sample::compare_sampled(
      name, output.download(),
      [&](std::size_t i) {
        double y = input[i];
        for (std::size_t step = 0; step < steps; ++step)
          y = y * kFactor + static_cast<double>(input[i]);
        return y;
      },
      {1e-5, 1e-5});
}
