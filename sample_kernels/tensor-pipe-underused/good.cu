// Shows: four products at a time per warp, independent of each other
// Expect: tensor-core-bound
// Arguments: [steps = 2048]
#include "multiply.cuh"

__global__ void multiply_four(const half* __restrict__ a, const half* __restrict__ b,
                              float* __restrict__ output, unsigned steps) {
  multiply_tiles<kTilesPerWarp, 4>(a, b, output, steps);
}

int main(int argc, char** argv) {
  return multiply_and_check("tensor-pipe-underused/good", argc, argv, multiply_four);
}
