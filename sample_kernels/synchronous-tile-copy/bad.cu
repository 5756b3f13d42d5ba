// Shows: a tiled matrix product that loads each slice to registers, stores it and only then computes
// Expect: synchronous-tile-copy
// Arguments: [size = 1024] [depth = 4096]
//
// With two blocks of two warps per SM there is nothing else to do while a slice is on its way. good.cu
// copies the next slice asynchronously while it multiplies the current one.
#include "product.cuh"

__global__ void __launch_bounds__(kThreads)
    multiply_after_copy(const float4* __restrict__ a, const float4* __restrict__ b,
                        float* __restrict__ c, unsigned size, unsigned depth) {
  __shared__ float4 slice_a[kQuads], slice_b[kQuads];
  float sums[kValues][kValues] = {};
#pragma unroll 1
  for (unsigned k = 0; k < depth; k += kDepth) {
    for (unsigned n = 0; n < kCopies; ++n) {
      slice_a[n * kThreads + threadIdx.x] = a[source(n, k, blockIdx.y, size)];
      slice_b[n * kThreads + threadIdx.x] = b[source(n, k, blockIdx.x, size)];
    }
    __syncthreads();
    multiply(slice_a, slice_b, sums);
    __syncthreads();
  }
  store(c, size, sums);
}

int main(int argc, char** argv) {
  return multiply_and_check("synchronous-tile-copy/bad", multiply_after_copy, argc, argv);
}
