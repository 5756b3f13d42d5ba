// Shows: odd warps take one branch, even warps the other: no warp runs both
// Expect: compute-bound
// Arguments: [elements = 4194304]
//
// The same two recurrences on the same number of elements as bad.cu in half the time.
#include "branches.cuh"

__global__ void recur_by_warp(const float* __restrict__ input, float* __restrict__ output,
                   std::size_t count) {
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= count) return;
  if (threadIdx.x / 32 % 2 == 1) {
    output[i] = cubic(input[i]);
  } else {
    output[i] = quadratic(input[i]);
  }
}

int main(int argc, char** argv) {
  return recur_and_check(
      "thread-divergence/good", recur_by_warp, [](std::size_t i) { return i / 32 % 2 == 1; }, argc, argv);
}
