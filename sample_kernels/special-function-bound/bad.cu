// Shows: a sigmoid from an exponential and a division: two special functions each
// Expect: special-function-bound
// Arguments: [elements = 8388608]
#include "gates.cuh"

__global__ void average_gates(const float* __restrict__ input, float* __restrict__ output,
                              std::size_t count) {
  const std::size_t i = std::size_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= count) return;
  const float x = input[i];
  float sum = 0.0f;
#pragma unroll
  for (int k = 0; k < kGates; ++k) sum += __fdividef(1.0f, 1.0f + __expf(-x * slope(k)));
  output[i] = sum / kGates;
}

int main(int argc, char** argv) {
  return average_and_check("special-function-bound/bad", argc, argv, average_gates);
}
