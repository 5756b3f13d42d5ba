// Shows: a polynomial with products and sums apart, as -fmad=false compiles it
// Expect: unfused-multiply-add
// Arguments: [elements = 16777216]
#include "horner.cuh"

__global__ void evaluate_apart(const float* __restrict__ input, float* __restrict__ output,
                               std::size_t count) {
  const std::size_t first = std::size_t{blockIdx.x} * kThreads * kEach + threadIdx.x;
  float x[kEach];
  float y[kEach] = {};
#pragma unroll
  for (int j = 0; j < kEach; ++j) {
    const std::size_t i = first + j * kThreads;
    x[j] = i < count ? input[i] : 0.0f;
  }
#pragma unroll 1
  for (int round = 0; round < kRounds; ++round)
#pragma unroll
    for (int k = kCoefficients - 1; k >= 0; --k)
#pragma unroll
      for (int j = 0; j < kEach; ++j) y[j] = __fadd_rn(__fmul_rn(y[j], x[j]), coefficient(k));
#pragma unroll
  for (int j = 0; j < kEach; ++j) {
    const std::size_t i = first + j * kThreads;
    if (i < count) output[i] = y[j];
  }
}

int main(int argc, char** argv) {
  return evaluate_and_check("unfused-multiply-add/bad", argc, argv, evaluate_apart);
}
