// Products of small matrices on the tensor cores, all operands in registers: each warp multiplies its
// own matrices of 16 rows and columns and adds the product to its result once per step. The entries
// are small whole numbers, so the check is exact.
#pragma once

#include <cuda_fp16.h>
#include <mma.h>

#include "../check.cuh"

namespace wmma = nvcuda::wmma;

constexpr unsigned kThreads = 128;  // one warp per scheduler and block
constexpr unsigned kWarp = 32;
constexpr unsigned kFragment = 16;  // rows, columns and depth
constexpr unsigned kSize = kFragment * kFragment;

using FragmentA = wmma::fragment<wmma::matrix_a, kFragment, kFragment, kFragment, half, wmma::row_major>;
using FragmentB = wmma::fragment<wmma::matrix_b, kFragment, kFragment, kFragment, half, wmma::row_major>;
using FragmentC = wmma::fragment<wmma::accumulator, kFragment, kFragment, kFragment, float>;

// Multiplies `kTiles` pairs of matrices per warp, each pair `steps` times, `kAtOnce` pairs at a time.
template <unsigned kTiles, unsigned kAtOnce>
__device__ inline void multiply_tiles(const half* __restrict__ a, const half* __restrict__ b,
                                      float* __restrict__ output, unsigned steps) {
  const std::size_t warp = (blockIdx.x * kThreads + threadIdx.x) / kWarp;
  for (unsigned tile = 0; tile < kTiles; tile += kAtOnce) {
    const std::size_t first = (warp * kTiles + tile) * kSize;
    FragmentA left[kAtOnce];
    FragmentB right[kAtOnce];
    FragmentC sum[kAtOnce];
#pragma unroll
    for (unsigned k = 0; k < kAtOnce; ++k) {
      wmma::load_matrix_sync(left[k], a + first + k * kSize, kFragment);
      wmma::load_matrix_sync(right[k], b + first + k * kSize, kFragment);
      wmma::fill_fragment(sum[k], 0.0f);
    }
#pragma unroll 4
    for (unsigned step = 0; step < steps; ++step)
#pragma unroll
      for (unsigned k = 0; k < kAtOnce; ++k) wmma::mma_sync(sum[k], left[k], right[k], sum[k]);
#pragma unroll
    for (unsigned k = 0; k < kAtOnce; ++k)
      wmma::store_matrix_sync(output + first + k * kSize, sum[k], kFragment, wmma::mem_row_major);
  }
}

// Whole numbers from -2 to 2.
inline std::vector<half> small_numbers(std::size_t count, std::uint32_t seed) {
  std::vector<half> values(count);
  for (std::size_t i = 0; i < count; ++i)
    values[i] = __float2half(std::round(2.0f * sample::uniform(seed, i)));
  return values;
}

constexpr unsigned kTilesPerWarp = 4;

template <typename Kernel>
int multiply_and_check(const char* name, int argc, char** argv, Kernel kernel) {
  // 2^17 steps of at most 16 x 4 stay below 2^24, where float still counts exactly.
  const std::size_t steps = sample::argument(argc, argv, 1, "steps", 2048, 1, 1 << 17);
  sample::no_more_arguments(argc, 1);
  // One block per SM, as in products whose tiles take all of its shared memory.
  const unsigned blocks = static_cast<unsigned>(sample::sm_count());
  const std::size_t tiles = std::size_t{blocks} * (kThreads / kWarp) * kTilesPerWarp;
  const std::vector<half> a = small_numbers(tiles * kSize, 24);
  const std::vector<half> b = small_numbers(tiles * kSize, 25);
  sample::DeviceArray<half> device_a(a), device_b(b);
  sample::DeviceArray<float> output(tiles * kSize);
  kernel<<<blocks, kThreads>>>(device_a.get(), device_b.get(), output.get(),
                               static_cast<unsigned>(steps));
  CUDA_CHECK_LAUNCH();
  const std::vector<float> left(a.begin(), a.end());
  const std::vector<float> right(b.begin(), b.end());
  return sample::compare(name, output.download(), [&](std::size_t i) {
    const float* row = &left[i / kFragment * kFragment];
    const float* column = &right[i / kSize * kSize + i % kFragment];
    double sum = 0.0;
    for (std::size_t k = 0; k < kFragment; ++k) sum += row[k] * column[k * kFragment];
    return sum * static_cast<double>(steps);
  });
}
