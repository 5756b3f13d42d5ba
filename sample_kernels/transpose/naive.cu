// Shows: transpose straight from global to global memory; the stores are a column apart
// Expect: uncoalesced-global-access
// Arguments: [rows = 8192] [columns = rows]
#include "matrix.cuh"

__global__ void transpose_naive(const float* __restrict__ input, float* __restrict__ output,
                                unsigned rows, unsigned columns) {
  const unsigned column = blockIdx.x * kTile + threadIdx.x;
  for (unsigned j = 0; j < kTile; j += kRows) {
    const unsigned row = blockIdx.y * kTile + threadIdx.y + j;
    if (row < rows && column < columns)
      output[static_cast<std::size_t>(column) * rows + row] =  // 32 lanes, 32 rows of the output
          input[static_cast<std::size_t>(row) * columns + column];
  }
}

int main(int argc, char** argv) {
  return transpose_and_check("transpose/naive", transpose_naive, argc, argv);
}
