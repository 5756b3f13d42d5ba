// Shows: a tiled product of matrices on the FP32 pipe, where the tensor cores would take it
// Expect: tensor-cores-unused
// Arguments: [size = 2048]
//
// A well-made classic: tiles in shared memory, the next ones fetched meanwhile, and 8 x 8 results per
// thread in registers.
#include "product.cuh"

constexpr unsigned kDepth = 8;
constexpr unsigned kEach = 8;
constexpr unsigned kHalf = kTile / 2;

__global__ void __launch_bounds__(kThreads, 2)
    multiply_in_fp32(const float* __restrict__ a, const float* __restrict__ b,
                     float* __restrict__ c, unsigned size) {
  __shared__ __align__(16) float left[2][kDepth][kTile + 4];  // A's tile, turned
  __shared__ __align__(16) float right[2][kDepth][kTile];
  // Each thread fetches four floats of A and four of B per step.
  const unsigned row = threadIdx.x / 2, at = threadIdx.x % 2 * 4;
  const unsigned deep = threadIdx.x / 32, across = threadIdx.x % 32 * 4;
  const float* from_a = a + std::size_t{blockIdx.y * kTile + row} * size + at;
  const float* from_b = b + std::size_t{deep} * size + blockIdx.x * kTile + across;
  // Its results: four rows and columns in each quarter of the tile.
  const unsigned down = threadIdx.x / 16 * 4, side = threadIdx.x % 16 * 4;
  float sum[kEach][kEach] = {};

  const auto store = [&](unsigned stage, float4 x, float4 y) {
    left[stage][at + 0][row] = x.x;
    left[stage][at + 1][row] = x.y;
    left[stage][at + 2][row] = x.z;
    left[stage][at + 3][row] = x.w;
    *reinterpret_cast<float4*>(&right[stage][deep][across]) = y;
  };
  store(0, *reinterpret_cast<const float4*>(from_a), *reinterpret_cast<const float4*>(from_b));
  __syncthreads();
  for (unsigned k = 0, stage = 0; k < size; k += kDepth, stage ^= 1) {
    const bool more = k + kDepth < size;
    float4 next_a, next_b;
    if (more) {
      next_a = *reinterpret_cast<const float4*>(from_a + k + kDepth);
      next_b = *reinterpret_cast<const float4*>(from_b + std::size_t{k + kDepth} * size);
    }
#pragma unroll
    for (unsigned d = 0; d < kDepth; ++d) {
      float x[kEach], y[kEach];
#pragma unroll
      for (unsigned half = 0; half < 2; ++half) {
        *reinterpret_cast<float4*>(x + 4 * half) =
            *reinterpret_cast<const float4*>(&left[stage][d][down + half * kHalf]);
        *reinterpret_cast<float4*>(y + 4 * half) =
            *reinterpret_cast<const float4*>(&right[stage][d][side + half * kHalf]);
      }
#pragma unroll
      for (unsigned i = 0; i < kEach; ++i)
#pragma unroll
        for (unsigned j = 0; j < kEach; ++j) sum[i][j] = fmaf(x[i], y[j], sum[i][j]);
    }
    if (more) store(stage ^ 1, next_a, next_b);
    __syncthreads();
  }
#pragma unroll
  for (unsigned i = 0; i < kEach; ++i)
#pragma unroll
    for (unsigned half = 0; half < 2; ++half)
      *reinterpret_cast<float4*>(
          &c[std::size_t{blockIdx.y * kTile + down + i % 4 + i / 4 * kHalf} * size +
             blockIdx.x * kTile + side + half * kHalf]) =
          *reinterpret_cast<float4*>(&sum[i][4 * half]);
}

int main(int argc, char** argv) {
  return multiply_and_check("tensor-cores-unused/bad", argc, argv, multiply_in_fp32, {2e-3, 1e-4});
}
