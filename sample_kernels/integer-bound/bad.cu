// Shows: four indices taken apart by division and remainder for every element that is read
// Expect: integer-bound
// Arguments: [depth = 64]
#include "permute.cuh"

__global__ void sum_by_division(const float* __restrict__ input, float* __restrict__ output,
                                Shape shape) {
  const unsigned i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= shape.positions()) return;
  float sum = 0.0f;
#pragma unroll 4
  for (unsigned d = 0; d < shape.depth; ++d) {
    unsigned rest = d * shape.positions() + i;
    const unsigned c = rest % shape.columns;
    rest /= shape.columns;
    const unsigned r = rest % shape.rows;
    rest /= shape.rows;
    const unsigned p = rest % shape.planes;
    sum += input[shape.place(rest / shape.planes, p, r, c)];
  }
  output[i] = sum;
}

int main(int argc, char** argv) {
  return sum_and_check("integer-bound/bad", argc, argv, sum_by_division);
}
