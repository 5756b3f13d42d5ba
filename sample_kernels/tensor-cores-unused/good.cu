// Shows: the same product on the tensor cores, with the inputs rounded to TF32
// Expect: none of its own rule
// Arguments: [size = 2048]
//
// TF32 keeps 10 bits of mantissa, so the check allows more. Needs compute capability 8.0.
#include <mma.h>

#include "product.cuh"

namespace wmma = nvcuda::wmma;

constexpr unsigned kDepth = 32;
constexpr unsigned kPitchA = kDepth + 8, kPitchB = kTile + 8;  // apart in the banks
constexpr unsigned kDown = 2, kAcross = 4;  // fragments of 16 x 16 per warp

__global__ void __launch_bounds__(kThreads, 2)
    multiply_in_tf32(const float* __restrict__ a, const float* __restrict__ b,
                     float* __restrict__ c, unsigned size) {
#if __CUDA_ARCH__ >= 800
  __shared__ __align__(32) float left[kTile][kPitchA];
  __shared__ __align__(32) float right[kDepth][kPitchB];
  const unsigned warp = threadIdx.x / 32;
  const unsigned down = warp / 2 * kDown * 16, side = warp % 2 * kAcross * 16;
  wmma::fragment<wmma::accumulator, 16, 16, 8, float> sum[kDown][kAcross];
  for (unsigned i = 0; i < kDown; ++i)
    for (unsigned j = 0; j < kAcross; ++j) wmma::fill_fragment(sum[i][j], 0.0f);
  for (unsigned k = 0; k < size; k += kDepth) {
    for (unsigned i = threadIdx.x; i < kTile * kDepth; i += kThreads) {
      left[i / kDepth][i % kDepth] = wmma::__float_to_tf32(
          a[std::size_t{blockIdx.y * kTile + i / kDepth} * size + k + i % kDepth]);
      right[i / kTile][i % kTile] = wmma::__float_to_tf32(
          b[std::size_t{k + i / kTile} * size + blockIdx.x * kTile + i % kTile]);
    }
    __syncthreads();
#pragma unroll
    for (unsigned d = 0; d < kDepth; d += 8) {
      wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> x[kDown];
      wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::row_major> y[kAcross];
#pragma unroll
      for (unsigned i = 0; i < kDown; ++i)
        wmma::load_matrix_sync(x[i], &left[down + 16 * i][d], kPitchA);
#pragma unroll
      for (unsigned j = 0; j < kAcross; ++j)
        wmma::load_matrix_sync(y[j], &right[d][side + 16 * j], kPitchB);
#pragma unroll
      for (unsigned i = 0; i < kDown; ++i)
#pragma unroll
        for (unsigned j = 0; j < kAcross; ++j) wmma::mma_sync(sum[i][j], x[i], y[j], sum[i][j]);
    }
    __syncthreads();
  }
  for (unsigned i = 0; i < kDown; ++i)
    for (unsigned j = 0; j < kAcross; ++j)
      wmma::store_matrix_sync(&c[std::size_t{blockIdx.y * kTile + down + 16 * i} * size +
                                 blockIdx.x * kTile + side + 16 * j],
                              sum[i][j], size, wmma::mem_row_major);
#endif
}

int main(int argc, char** argv) {
  return multiply_and_check("tensor-cores-unused/good", argc, argv, multiply_in_tf32, {0.1, 1e-2});
}
