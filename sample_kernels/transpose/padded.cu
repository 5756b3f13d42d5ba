// Shows: transpose through a [32][33] tile: one unused word per row, no bank conflicts
// Expect: dram-bandwidth-bound
// Arguments: [rows = 8192] [columns = rows]
//
// The rows of the tile are 33 words apart, so the 32 lanes that read one column want 32 different
// banks. unpadded.cu is the same kernel without the extra word.
#include "matrix.cuh"

__global__ void transpose_padded(const float* __restrict__ input, float* __restrict__ output,
                                   unsigned rows, unsigned columns) {
  __shared__ float tile[kTile][kTile + 1];

  unsigned column = blockIdx.x * kTile + threadIdx.x;
  for (unsigned j = 0; j < kTile; j += kRows) {
    const unsigned row = blockIdx.y * kTile + threadIdx.y + j;
    if (row < rows && column < columns)
      tile[threadIdx.y + j][threadIdx.x] =
          input[static_cast<std::size_t>(row) * columns + column];
  }
  __syncthreads();

  column = blockIdx.y * kTile + threadIdx.x;  // of the output, whose rows are the input's columns
  for (unsigned j = 0; j < kTile; j += kRows) {
    const unsigned row = blockIdx.x * kTile + threadIdx.y + j;
    if (row < columns && column < rows) {
      const float value = tile[threadIdx.x][threadIdx.y + j];  // one column: 32 banks
      output[static_cast<std::size_t>(row) * rows + column] = value;
    }
  }
}

int main(int argc, char** argv) {
  return transpose_and_check("transpose/padded", transpose_padded, argc, argv);
}
