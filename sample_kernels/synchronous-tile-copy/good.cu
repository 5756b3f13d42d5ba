// Shows: the same product with the next slices on their way (cp.async) while one is multiplied
// Expect: shared-bank-conflicts
// Arguments: [size = 1024] [depth = 4096]
#include "product.cuh"

#include <cuda_pipeline.h>

constexpr unsigned kStages = 4;

__device__ inline void begin_copy(float4* slice_a, float4* slice_b, const float4* a,
                                  const float4* b, unsigned k, unsigned size, unsigned depth) {
  for (unsigned n = 0; n < kCopies && k < depth; ++n) {
    const unsigned quad = n * kThreads + threadIdx.x;
    __pipeline_memcpy_async(slice_a + quad, a + source(n, k, blockIdx.y, size), sizeof(float4));
    __pipeline_memcpy_async(slice_b + quad, b + source(n, k, blockIdx.x, size), sizeof(float4));
  }
  __pipeline_commit();  // also where nothing is left to copy: every slice is one commit
}

__global__ void __launch_bounds__(kThreads)
    multiply_during_copy(const float4* __restrict__ a, const float4* __restrict__ b,
                         float* __restrict__ c, unsigned size, unsigned depth) {
  __shared__ float4 slice_a[kStages][kQuads], slice_b[kStages][kQuads];
  float sums[kValues][kValues] = {};
  for (unsigned stage = 0; stage + 1 < kStages; ++stage)
    begin_copy(slice_a[stage], slice_b[stage], a, b, stage * kDepth, size, depth);
#pragma unroll 1
  for (unsigned k = 0, stage = 0; k < depth; k += kDepth, stage = (stage + 1) % kStages) {
    const unsigned next = (stage + kStages - 1) % kStages;
    __pipeline_wait_prior(kStages - 2);
    __syncthreads();  // the slice is there, and the one before it is no longer read
    begin_copy(slice_a[next], slice_b[next], a, b, k + (kStages - 1) * kDepth, size, depth);
    multiply(slice_a[stage], slice_b[stage], sums);
  }
  store(c, size, sums);
}

int main(int argc, char** argv) {
  return multiply_and_check("synchronous-tile-copy/good", multiply_during_copy, argc, argv);
}
