// What the two variants share: C = transpose(A) * B for A of depth x size and B of depth x size.
// Every block computes a 64 x 64 tile of C with 64 threads, 8 x 8 values each in registers, from
// slices of kDepth rows of A and B that it copies to shared memory.
#pragma once

#include "../check.cuh"

constexpr unsigned kTile = 64;
constexpr unsigned kDepth = 8;
constexpr unsigned kThreads = 64;
constexpr unsigned kValues = 8;                                     // per thread and direction
constexpr unsigned kQuads = kDepth * kTile / 4;                     // float4 of one slice
constexpr unsigned kCopies = kQuads / kThreads;                     // float4 per thread and slice
constexpr unsigned kRowQuads = kTile / 4;

using Product = void (*)(const float4*, const float4*, float*, unsigned, unsigned);

// Adds the product of one slice to the 8 x 8 values of this thread.
__device__ inline void multiply(const float4* a, const float4* b, float (&sums)[kValues][kValues]) {
  const unsigned row = threadIdx.x / 8 * (kValues / 4);
  const unsigned column = threadIdx.x % 8 * (kValues / 4);
#pragma unroll
  for (unsigned k = 0; k < kDepth; ++k) {
    float left[kValues];
    float right[kValues];
    *reinterpret_cast<float4*>(left) = a[k * kRowQuads + row];
    *reinterpret_cast<float4*>(left + 4) = a[k * kRowQuads + row + 1];
    *reinterpret_cast<float4*>(right) = b[k * kRowQuads + column];
    *reinterpret_cast<float4*>(right + 4) = b[k * kRowQuads + column + 1];
#pragma unroll
    for (unsigned i = 0; i < kValues; ++i)
#pragma unroll
      for (unsigned j = 0; j < kValues; ++j) sums[i][j] += left[i] * right[j];
  }
}

__device__ inline void store(float* c, unsigned size, const float (&sums)[kValues][kValues]) {
  const std::size_t row = blockIdx.y * kTile + threadIdx.x / 8 * kValues;
  const unsigned column = blockIdx.x * kTile + threadIdx.x % 8 * kValues;
#pragma unroll
  for (unsigned i = 0; i < kValues; ++i)
#pragma unroll
    for (unsigned j = 0; j < kValues; j += 4)
      *reinterpret_cast<float4*>(c + (row + i) * size + column + j) =
          make_float4(sums[i][j], sums[i][j + 1], sums[i][j + 2], sums[i][j + 3]);
}

// The float4 of A or B that copy `n` of this thread moves in the slice that starts at row `k`.
__device__ inline std::size_t source(unsigned n, unsigned k, unsigned tile, unsigned size) {
  const unsigned quad = n * kThreads + threadIdx.x;
  return static_cast<std::size_t>(k + quad / kRowQuads) * (size / 4) + tile * kRowQuads +
         quad % kRowQuads;
}

inline int multiply_and_check(const char* name, Product kernel, int argc, char** argv) {
  const std::size_t size = sample::argument(argc, argv, 1, "size", 1024, kTile, 1 << 14);
  const std::size_t depth = sample::argument(argc, argv, 2, "depth", 4096, kDepth, 1 << 16);
  sample::no_more_arguments(argc, 2);
  if (size % kTile != 0 || depth % kDepth != 0)
    sample::refuse("size must be a multiple of 64 and depth one of 8");

  const std::vector<float> a = sample::random_floats(depth * size, 41);
  const std::vector<float> b = sample::random_floats(depth * size, 42);
  sample::DeviceArray<float> device_a(a), device_b(b), c(size * size);
  const dim3 grid(static_cast<unsigned>(size / kTile), static_cast<unsigned>(size / kTile));
  kernel<<<grid, kThreads>>>(reinterpret_cast<const float4*>(device_a.get()),
                             reinterpret_cast<const float4*>(device_b.get()), c.get(),
                             static_cast<unsigned>(size), static_cast<unsigned>(depth));
  CUDA_CHECK_LAUNCH();

  return sample::compare(
      name, c.download(),
      [&](std::size_t i) {
        double sum = 0.0;
        for (std::size_t k = 0; k < depth; ++k)
          sum += static_cast<double>(a[k * size + i / size]) * b[k * size + i % size];
        return sum;
      },
      {5e-3, 0.0}, 1021);  // an odd step visits every place of a tile
}
