// Shows: rows are dealt out one by one, so that every block has its share of the long ones
// Expect: compute-bound
// Arguments: [steps = 512]
#include "rows.cuh"

__global__ void __launch_bounds__(kThreads)
    recur_dealt_out(const float* __restrict__ input, float* __restrict__ output, unsigned rows,
                    unsigned steps) {
  for (unsigned row = blockIdx.x; row < rows; row += gridDim.x)
    recur_row(input, output, row, rows, steps);
}

int main(int argc, char** argv) {
  return run_and_check("workload-imbalance/good", argc, argv, recur_dealt_out);
}
