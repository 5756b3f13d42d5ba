// Shows: one product at a time per warp: each waits for the one before it
// Expect: tensor-pipe-underused
// Arguments: [steps = 2048]
#include "multiply.cuh"

__global__ void multiply_one(const half* __restrict__ a, const half* __restrict__ b,
                             float* __restrict__ output, unsigned steps) {
  multiply_tiles<kTilesPerWarp, 1>(a, b, output, steps);
}

int main(int argc, char** argv) {
  return multiply_and_check("tensor-pipe-underused/bad", argc, argv, multiply_one);
}
