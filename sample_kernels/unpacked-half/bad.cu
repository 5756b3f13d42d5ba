// Shows: half-precision arithmetic on one value per thread: one lane of two is thrown away
// Expect: unpacked-half
// Arguments: [steps = 512]
//
// Between independent values of one thread the compiler finds pairs by itself; here there are none.
#include "decay.cuh"

__global__ void decay_one(const half* __restrict__ input, half* __restrict__ output,
                          unsigned steps) {
  const std::size_t i = std::size_t{blockIdx.x} * kThreads + threadIdx.x;
  const half keep = __float2half(kKeep);
  const half x = __hmul(input[i], __float2half(kTake));
  half y = __float2half(0.0f);
#pragma unroll 16
  for (unsigned step = 0; step < steps; ++step) y = __hfma(y, keep, x);
  output[i] = y;
}

int main(int argc, char** argv) {
  return decay_and_check<half>("unpacked-half/bad", argc, argv, decay_one);
}
