// Shows: the indices taken apart once per thread, and a constant step from one element to the next
// Expect: dram-bandwidth-bound
// Arguments: [depth = 64]
#include "permute.cuh"

__global__ void sum_by_steps(const float* __restrict__ input, float* __restrict__ output,
                             Shape shape) {
  const unsigned i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= shape.positions()) return;
  const unsigned c = i % shape.columns;
  const unsigned r = i / shape.columns % shape.rows;
  const unsigned p = i / shape.columns / shape.rows;
  const float* at = input + shape.place(0, p, r, c);
  const std::size_t step = std::size_t{shape.rows} * shape.pitch;
  float sum = 0.0f;
#pragma unroll 8
  for (unsigned d = 0; d < shape.depth; ++d, at += step) sum += *at;
  output[i] = sum;
}

int main(int argc, char** argv) {
  return sum_and_check("integer-bound/good", argc, argv, sum_by_steps);
}
