// Shows: the same recurrence on pairs: one instruction for two values
// Expect: compute-bound
// Arguments: [steps = 512]
#include "decay.cuh"

__global__ void decay_pair(const half2* __restrict__ input, half2* __restrict__ output,
                           unsigned steps) {
  const std::size_t i = std::size_t{blockIdx.x} * kThreads + threadIdx.x;
  const half2 keep = __float2half2_rn(kKeep);
  const half2 x = __hmul2(input[i], __float2half2_rn(kTake));
  half2 y = __float2half2_rn(0.0f);
#pragma unroll 16
  for (unsigned step = 0; step < steps; ++step) y = __hfma2(y, keep, x);
  output[i] = y;
}

int main(int argc, char** argv) {
  return decay_and_check<half2>("unpacked-half/good", argc, argv, decay_pair);
}
