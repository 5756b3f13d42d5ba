// Shows: odd lanes take one branch, even lanes the other: every warp runs both
// Expect: thread-divergence
// Arguments: [elements = 4194304]
//
// Half of the lanes are idle all the time. good.cu gives whole warps to each branch.
#include "branches.cuh"

__global__ void recur_by_lane(const float* __restrict__ input, float* __restrict__ output,
                   std::size_t count) {
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= count) return;
  if (threadIdx.x % 2 == 1) {
    output[i] = cubic(input[i]);
  } else {
    output[i] = quadratic(input[i]);
  }
}

int main(int argc, char** argv) {
  return recur_and_check(
      "thread-divergence/bad", recur_by_lane, [](std::size_t i) { return i % 2 == 1; }, argc, argv);
}
