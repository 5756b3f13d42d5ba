// Shows: a thread works on one value at a time; each multiply-add needs the result of the last
// Expect: dependency-stalls
// Arguments: [rounds = 1]
//
// With one warp per scheduler nothing fills the cycles between. good.cu has four chains per thread.
#include "series.cuh"

__global__ void one_chain(const float* __restrict__ input, float* __restrict__ output,
                          unsigned per_thread) {
  const unsigned thread = blockIdx.x * kThreads + threadIdx.x;
  const unsigned threads = gridDim.x * kThreads;
#pragma unroll 1
  for (unsigned n = 0; n < per_thread; ++n) {
    const float start = input[n * threads + thread];
    float value = start;
#pragma unroll 32
    for (int step = 0; step < kSteps; ++step) value = fmaf(value, kDecay, start);
    output[n * threads + thread] = value;
  }
}

int main(int argc, char** argv) {
  return sum_series_and_check("dependency-stalls/bad", one_chain, argc, argv);
}
