// Shows: each block takes neighbouring rows, and the long ones all lie in the first few blocks
// Expect: workload-imbalance
// Arguments: [steps = 512]
#include "rows.cuh"

__global__ void __launch_bounds__(kThreads)
    recur_neighbours(const float* __restrict__ input, float* __restrict__ output, unsigned rows,
                     unsigned steps) {
  for (unsigned k = 0; k < kRowsPerBlock; ++k)
    recur_row(input, output, blockIdx.x * kRowsPerBlock + k, rows, steps);
}

int main(int argc, char** argv) {
  return run_and_check("workload-imbalance/bad", argc, argv, recur_neighbours);
}
