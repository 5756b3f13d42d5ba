// Shows: a column filter over 8-bit pixels, one byte per thread and load
// Expect: narrow-global-access
// Arguments: [rows = 8192]
//
// A load instruction of a warp moves 32 bytes where it could move 512, so the load/store unit is
// busy with their number while memory is not. good.cu loads four pixels at once.
#include "image.cuh"

__global__ void blur_by_byte(const unsigned char* __restrict__ input,
                             unsigned short* __restrict__ output, unsigned rows) {
  const unsigned x = blockIdx.x * kWarp + threadIdx.x;
  const unsigned y = blockIdx.y * kRows + threadIdx.y;
  if (y >= rows) return;
  const unsigned char* column = input + static_cast<std::size_t>(y) * kWidth + x;
  unsigned sum = 0;
#pragma unroll
  for (int row = 0; row <= 2 * kRadius; ++row) sum += column[row * kWidth];
  output[static_cast<std::size_t>(y) * kWidth + x] = static_cast<unsigned short>(sum);
}

int main(int argc, char** argv) {
  return blur_and_check("narrow-global-access/bad", blur_by_byte, 1, argc, argv);
}
