// Shows: matrix multiply-accumulate on the tensor cores, all operands in registers
// Expect: tensor-core-bound
// Arguments: [steps = 512]
//
// Each warp multiplies its own 32 x 16 by 16 x 64 matrices (half precision, float sums) and adds
// the product to its result once per step. The entries are small whole numbers, so the check is
// exact.
#include <cuda_fp16.h>
#include <mma.h>

#include "../check.cuh"

namespace wmma = nvcuda::wmma;

constexpr unsigned kThreads = 128;
constexpr unsigned kWarp = 32;
constexpr unsigned kFragment = 16;  // rows, columns and depth of one fragment
constexpr unsigned kDown = 2;       // fragments of A below each other
constexpr unsigned kAcross = 4;     // fragments of B beside each other
constexpr unsigned kRows = kDown * kFragment;
constexpr unsigned kColumns = kAcross * kFragment;

using FragmentA = wmma::fragment<wmma::matrix_a, kFragment, kFragment, kFragment, half, wmma::row_major>;
using FragmentB = wmma::fragment<wmma::matrix_b, kFragment, kFragment, kFragment, half, wmma::row_major>;
using FragmentC = wmma::fragment<wmma::accumulator, kFragment, kFragment, kFragment, float>;

__global__ void multiply_in_registers(const half* __restrict__ a, const half* __restrict__ b,
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

// Whole numbers from -2 to 2.
std::vector<half> small_numbers(std::size_t count, std::uint32_t seed) {
  std::vector<half> values(count);
  for (std::size_t i = 0; i < count; ++i)
    values[i] = __float2half(std::round(2.0f * sample::uniform(seed, i)));
  return values;
}

int main(int argc, char** argv) {
  // 2^17 steps of at most 16 x 4 stay below 2^24, where float still counts exactly.
  const std::size_t steps = sample::argument(argc, argv, 1, "steps", 512, 1, 1 << 17);
  sample::no_more_arguments(argc, 1);
  const unsigned blocks = static_cast<unsigned>(4 * sample::sm_count());
  const std::size_t warps = static_cast<std::size_t>(blocks) * (kThreads / kWarp);

  const std::vector<half> a = small_numbers(warps * kRows * kFragment, 24);
  const std::vector<half> b = small_numbers(warps * kFragment * kColumns, 25);
  sample::DeviceArray<half> device_a(a), device_b(b);
  sample::DeviceArray<float> output(warps * kRows * kColumns);
  multiply_in_registers<<<blocks, kThreads>>>(device_a.get(), device_b.get(), output.get(),
                                              static_cast<unsigned>(steps));
  CUDA_CHECK_LAUNCH();

  const std::vector<float> left(a.begin(), a.end());
  const std::vector<float> right(b.begin(), b.end());
  return sample::compare("tensor-core-bound/bad", output.download(), [&](std::size_t i) {
    const float* row = &left[i / kColumns * kFragment];
    const float* column = &right[i / (kRows * kColumns) * kFragment * kColumns + i % kColumns];
    double sum = 0.0;
    for (std::size_t k = 0; k < kFragment; ++k) sum += row[k] * column[k * kColumns];
    return sum * static_cast<double>(steps);
  });
}
