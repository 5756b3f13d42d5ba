// Shows: transpose through a [32][32] tile: reading a column hits one bank 32 times
// Expect: shared-bank-conflicts, 32-way, on the line that reads the tile
// Arguments: [rows = 8192] [columns = rows]
//
// The rows of the tile are 32 words apart and there are 32 banks, so the 32 lanes that read one
// column all want the same bank. padded.cu differs by one word per row.
#include "matrix.cuh"

__global__ void transpose_unpadded(const float* __restrict__ input, float* __restrict__ output,
                                   unsigned rows, unsigned columns) {
  __shared__ float tile[kTile][kTile];

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
      const float value = tile[threadIdx.x][threadIdx.y + j];  // one column: one bank
      output[static_cast<std::size_t>(row) * rows + column] = value;
    }
  }
}

int main(int argc, char** argv) {
  return transpose_and_check("transpose/unpadded", transpose_unpadded, argc, argv);
}
