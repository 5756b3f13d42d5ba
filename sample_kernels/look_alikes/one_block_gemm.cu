// Shows: tensor cores at the full rate of their path with one block per SM and 12 % occupancy
// Expect: tensor-core-bound
// Arguments: [steps = 1024]
//
// Looks like a kernel with too few warps and is none: eight warps per SM, each with eight independent
// products in registers, keep the pipe full. Shared memory keeps other blocks out, as the tiles of a
// real product would.
#include <cuda_fp16.h>
#include <mma.h>

#include "../check.cuh"

namespace wmma = nvcuda::wmma;

constexpr unsigned kThreads = 256;
constexpr unsigned kWarp = 32;
constexpr unsigned kFragment = 16;
constexpr unsigned kDown = 2;
constexpr unsigned kAcross = 4;
constexpr unsigned kRows = kDown * kFragment;
constexpr unsigned kColumns = kAcross * kFragment;

using FragmentA = wmma::fragment<wmma::matrix_a, kFragment, kFragment, kFragment, half, wmma::row_major>;
using FragmentB = wmma::fragment<wmma::matrix_b, kFragment, kFragment, kFragment, half, wmma::row_major>;
using FragmentC = wmma::fragment<wmma::accumulator, kFragment, kFragment, kFragment, float>;

__global__ void __launch_bounds__(kThreads, 1)
    multiply_one_block(const half* __restrict__ a, const half* __restrict__ b,
                       float* __restrict__ output, unsigned steps) {
  const std::size_t warp = (blockIdx.x * kThreads + threadIdx.x) / kWarp;
  FragmentA left[kDown];
  FragmentB right[kAcross];
  FragmentC sum[kDown][kAcross];
  for (unsigned i = 0; i < kDown; ++i)
    wmma::load_matrix_sync(left[i], a + (warp * kRows + i * kFragment) * kFragment, kFragment);
  for (unsigned j = 0; j < kAcross; ++j)
    wmma::load_matrix_sync(right[j], b + warp * kFragment * kColumns + j * kFragment, kColumns);
  for (unsigned i = 0; i < kDown; ++i)
    for (unsigned j = 0; j < kAcross; ++j) wmma::fill_fragment(sum[i][j], 0.0f);
#pragma unroll 2
  for (unsigned step = 0; step < steps; ++step)
    for (unsigned i = 0; i < kDown; ++i)
      for (unsigned j = 0; j < kAcross; ++j)
        wmma::mma_sync(sum[i][j], left[i], right[j], sum[i][j]);
  float* tile = output + warp * kRows * kColumns;
  for (unsigned i = 0; i < kDown; ++i)
    for (unsigned j = 0; j < kAcross; ++j)
      wmma::store_matrix_sync(tile + i * kFragment * kColumns + j * kFragment, sum[i][j], kColumns,
                              wmma::mem_row_major);
}

// Whole numbers from -2 to 2, so that the check is exact.
std::vector<half> small_numbers(std::size_t count, std::uint32_t seed) {
  std::vector<half> values(count);
  for (std::size_t i = 0; i < count; ++i)
    values[i] = __float2half(std::round(2.0f * sample::uniform(seed, i)));
  return values;
}

int main(int argc, char** argv) {
  const std::size_t steps = sample::argument(argc, argv, 1, "steps", 1024, 1, 1 << 17);
  sample::no_more_arguments(argc, 1);
  int device = 0, shared = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  CUDA_CHECK(cudaFuncSetAttribute(multiply_one_block, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  shared));
  const unsigned blocks = static_cast<unsigned>(sample::sm_count());
  const std::size_t warps = std::size_t{blocks} * (kThreads / kWarp);
  const std::vector<half> a = small_numbers(warps * kRows * kFragment, 51);
  const std::vector<half> b = small_numbers(warps * kFragment * kColumns, 52);
  sample::DeviceArray<half> device_a(a), device_b(b);
  sample::DeviceArray<float> output(warps * kRows * kColumns);
  multiply_one_block<<<blocks, kThreads, static_cast<std::size_t>(shared)>>>(
      device_a.get(), device_b.get(), output.get(), static_cast<unsigned>(steps));
  CUDA_CHECK_LAUNCH();
  const std::vector<float> left(a.begin(), a.end());
  const std::vector<float> right(b.begin(), b.end());
  return sample::compare("look_alikes/one_block_gemm", output.download(), [&](std::size_t i) {
    const float* row = &left[i / kColumns * kFragment];
    const float* column = &right[i / (kRows * kColumns) * kFragment * kColumns + i % kColumns];
    double sum = 0.0;
    for (std::size_t k = 0; k < kFragment; ++k) sum += row[k] * column[k * kColumns];
    return sum * static_cast<double>(steps);
  });
}
