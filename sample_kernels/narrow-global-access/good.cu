// Shows: the same filter with four neighbouring pixels per thread and load
// Expect: compute-bound
// Arguments: [rows = 8192]
//
// The sums of a row's first and third pixel, and of its second and fourth, share a register: 33
// bytes add up to less than 16 bits hold.
#include "image.cuh"

__global__ void blur_by_word(const unsigned char* __restrict__ input,
                             unsigned short* __restrict__ output, unsigned rows) {
  const unsigned x = 4 * (blockIdx.x * kWarp + threadIdx.x);
  const unsigned y = blockIdx.y * kRows + threadIdx.y;
  if (y >= rows) return;
  const unsigned char* column = input + static_cast<std::size_t>(y) * kWidth + x;
  unsigned even = 0;
  unsigned odd = 0;
#pragma unroll
  for (int row = 0; row <= 2 * kRadius; ++row) {
    const unsigned four = *reinterpret_cast<const unsigned*>(column + row * kWidth);
    even += four & 0x00ff00ffU;
    odd += (four >> 8) & 0x00ff00ffU;
  }
  const ushort4 sums = make_ushort4(
      static_cast<unsigned short>(even), static_cast<unsigned short>(odd),
      static_cast<unsigned short>(even >> 16), static_cast<unsigned short>(odd >> 16));
  *reinterpret_cast<ushort4*>(output + static_cast<std::size_t>(y) * kWidth + x) = sums;
}

int main(int argc, char** argv) {
  return blur_and_check("narrow-global-access/good", blur_by_word, 4, argc, argv);
}
