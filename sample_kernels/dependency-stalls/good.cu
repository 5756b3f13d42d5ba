// Shows: a thread works on four values at a time: four chains that do not wait for each other
// Expect: compute-bound
// Arguments: [rounds = 1]
//
// As many threads and the same arithmetic as bad.cu.
#include "series.cuh"

constexpr unsigned kChains = 4;

__global__ void four_chains(const float* __restrict__ input, float* __restrict__ output,
                            unsigned per_thread) {
  const unsigned thread = blockIdx.x * kThreads + threadIdx.x;
  const unsigned threads = gridDim.x * kThreads;
#pragma unroll 1
  for (unsigned n = 0; n < per_thread; n += kChains) {
    float start[kChains];
    float value[kChains];
#pragma unroll
    for (unsigned chain = 0; chain < kChains; ++chain)
      value[chain] = start[chain] = input[(n + chain) * threads + thread];
#pragma unroll 32
    for (int step = 0; step < kSteps; ++step) {
#pragma unroll
      for (unsigned chain = 0; chain < kChains; ++chain)
        value[chain] = fmaf(value[chain], kDecay, start[chain]);
    }
#pragma unroll
    for (unsigned chain = 0; chain < kChains; ++chain)
      output[(n + chain) * threads + thread] = value[chain];
  }
}

int main(int argc, char** argv) {
  return sum_series_and_check("dependency-stalls/good", four_chains, argc, argv);
}
