// Shows: the same counts with constant indices: the array stays in registers
// Expect: none of the memory rules
// Arguments: [threads = 540672]
//
// Sixteen compares per element cost less than a round trip to local memory.
#include "histogram.cuh"

__global__ void count_compared(const std::uint32_t* __restrict__ data, std::uint32_t* __restrict__ counts,
                   std::size_t threads) {
  const std::size_t thread = static_cast<std::size_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (thread >= threads) return;
  std::uint32_t bins[kBins] = {};
  for (unsigned i = 0; i < kPerThread; ++i) {
    const std::uint32_t bin = data[i * threads + thread];
#pragma unroll
    for (unsigned b = 0; b < kBins; ++b) bins[b] += bin == b;
  }
#pragma unroll
  for (unsigned b = 0; b < kBins; ++b) counts[b * threads + thread] = bins[b];
}

int main(int argc, char** argv) {
  return histogram_and_check("local-memory-traffic/good", count_compared, argc, argv);
}
