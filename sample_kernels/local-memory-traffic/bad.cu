// Shows: a per-thread array indexed by data: registers have no index, so it lives in local memory
// Expect: local-memory-traffic
// Arguments: [threads = 540672]
//
// Every count is a load and a store through the L1 cache. good.cu indexes with constants only.
#include "histogram.cuh"

__global__ void count_indexed(const std::uint32_t* __restrict__ data, std::uint32_t* __restrict__ counts,
                   std::size_t threads) {
  const std::size_t thread = static_cast<std::size_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (thread >= threads) return;
  std::uint32_t bins[kBins] = {};
  for (unsigned i = 0; i < kPerThread; ++i) {
    const std::uint32_t bin = data[i * threads + thread];
    ++bins[bin % kBins];  // the index is known at run time only
  }
#pragma unroll
  for (unsigned b = 0; b < kBins; ++b) counts[b * threads + thread] = bins[b];
}

int main(int argc, char** argv) {
  return histogram_and_check("local-memory-traffic/bad", count_indexed, argc, argv);
}
