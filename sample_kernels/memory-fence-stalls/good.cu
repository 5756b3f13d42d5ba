// Shows: every warp says how far it is after each stage, and fences once when all is written
// Expect: none of the memory rules; arithmetic is the limit
// Arguments: [stages = 512]
//
// The writes stay ordered for everybody who reads them after the fence at the end.
#include "progress.cuh"

__global__ void advance_and_fence_once(const float* __restrict__ input,
                                       float* __restrict__ output, unsigned* reached,
                                       unsigned stages) {
  const unsigned i = blockIdx.x * kThreads + threadIdx.x;
  const float drive = input[i];
  float value = drive;
#pragma unroll 1
  for (unsigned stage = 0; stage < stages; ++stage) {
    value = advance(value, drive);
    if (threadIdx.x % kWarp == 0) *static_cast<volatile unsigned*>(&reached[i / kWarp]) = stage + 1;
  }
  output[i] = value;
  __threadfence();
}

int main(int argc, char** argv) {
  return advance_and_check("memory-fence-stalls/good", advance_and_fence_once, argc, argv);
}
