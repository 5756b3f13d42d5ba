// Shows: every warp fences memory after each stage, so that others may read how far it is
// Expect: memory-fence-stalls
// Arguments: [stages = 512]
//
// A fence waits for the write before it to reach L2 and come back. good.cu fences once, at the end.
#include "progress.cuh"

__global__ void advance_with_fences(const float* __restrict__ input, float* __restrict__ output,
                                    unsigned* reached, unsigned stages) {
  const unsigned i = blockIdx.x * kThreads + threadIdx.x;
  const float drive = input[i];
  float value = drive;
#pragma unroll 1
  for (unsigned stage = 0; stage < stages; ++stage) {
    value = advance(value, drive);
    if (threadIdx.x % kWarp == 0) reached[i / kWarp] = stage + 1;
    __threadfence();
  }
  output[i] = value;
}

int main(int argc, char** argv) {
  return advance_and_check("memory-fence-stalls/bad", advance_with_fences, argc, argv);
}
