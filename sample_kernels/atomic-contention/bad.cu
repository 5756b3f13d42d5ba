// Shows: every thread of the grid adds to one of 64 counters in global memory
// Expect: atomic-contention
// Arguments: [values = 16777216]
//
// The updates of a counter wait for each other in L2. good.cu counts in shared memory first.
#include "histogram.cuh"

__global__ void count_globally(unsigned* counts, std::uint32_t values) {
  const std::uint32_t stride = gridDim.x * kThreads;
  for (std::uint32_t i = blockIdx.x * kThreads + threadIdx.x; i < values; i += stride)
    atomicAdd(&counts[class_of(i)], 1U);
}

int main(int argc, char** argv) {
  return count_classes_and_check("atomic-contention/bad", count_globally, argc, argv);
}
